package transfers

import (
	"encoding/binary"

	"example.com/bankapi/internal/id"
)

// nextID names the next transfer between two accounts. In the history of one account ids rise with the sequence numbers,
// so that one index serves both. New ids rise by themselves, except on an account that an instance with a faster clock
// has just used: then the last id is followed at a small random distance, small so as to stay near it, random because
// other accounts follow the same id.
func (b *book) nextID(from, to *account) TransferID {
	fresh := id.ID(b.newID())
	last := id.ID(from.lastTransfer)
	if other := id.ID(to.lastTransfer); other.Compare(last) > 0 {
		last = other
	}
	if fresh.Compare(last) > 0 {
		return TransferID(fresh)
	}
	distance := binary.BigEndian.Uint64(fresh[8:])&(1<<40-1) + 1
	return TransferID(advance(last, distance))
}

// advance adds n, at most 2^62, to a UUIDv7 seen as one number of 122 bits: 48 of time, 12 and 62 of counter. Version and
// variant stay what they are.
func advance(uuid id.ID, n uint64) id.ID {
	high, low := binary.BigEndian.Uint64(uuid[:8]), binary.BigEndian.Uint64(uuid[8:])
	const lowBits, variant = 1<<62 - 1, 1 << 63
	sum := low&lowBits + n
	counter := high>>16<<12 | high&0xfff
	counter += sum >> 62
	binary.BigEndian.PutUint64(uuid[:8], counter>>12<<16|0x7000|counter&0xfff)
	binary.BigEndian.PutUint64(uuid[8:], sum&lowBits|variant)
	return uuid
}
