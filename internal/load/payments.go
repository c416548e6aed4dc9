package load

import (
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// keyLen is how long idempotency keys are: 160 random bits.
const keyLen = 32

// Payments returns what a connection of Run sends: transfers between two accounts of the crowd, each with a key that was
// never used. Where one account is hot, it receives all of them.
func (c *Crowd) Payments(hot bool) func() Requests {
	return func() Requests {
		var seed [32]byte
		_, _ = crand.Read(seed[:])                // never fails
		random := rand.New(rand.NewChaCha8(seed)) //nolint:gosec // keys must differ, and need not be secret
		p := newPayment(c.Members[0])
		return func() []byte {
			from, to := c.pick(random, hot)
			p.fill(random, from, to)
			return p.bytes
		}
	}
}

// pick draws two different accounts.
func (c *Crowd) pick(random *rand.Rand, hot bool) (from, to Member) {
	to = c.Members[0]
	i := 1 + random.IntN(len(c.Members)-1)
	if !hot {
		shift := random.IntN(len(c.Members))
		to = c.Members[shift]
		i = (i + shift) % len(c.Members)
	}
	return c.Members[i], to
}

// payment is the text of a request with room for what changes. All of that has a fixed length.
type payment struct {
	bytes                       []byte
	token, key, from, to, units []byte // parts of bytes
}

func newPayment(like Member) *payment {
	p := &payment{}
	body := fmt.Sprintf(`{"from_account":"%s","to_account":"%s","amount":100,"currency":%q}`, like.Account, like.Account, Currency)
	var at [5]int
	put := func(i int, fixed string, room int) {
		p.bytes = append(p.bytes, fixed...)
		at[i] = len(p.bytes)
		p.bytes = append(p.bytes, make([]byte, room)...)
	}
	put(0, "POST /transfers HTTP/1.1\r\nHost: bank.example\r\nUser-Agent: load\r\nAuthorization: Bearer ", len(like.Token))
	put(1, "\r\nIdempotency-Key: ", keyLen)
	put(2, fmt.Sprintf("\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"from_account\":\"", len(body)), len(like.Account))
	put(3, `","to_account":"`, len(like.Account))
	put(4, `","amount":`, 3)
	p.bytes = fmt.Appendf(p.bytes, `,"currency":%q}`, Currency)
	p.token, p.key = p.bytes[at[0]:][:len(like.Token)], p.bytes[at[1]:][:keyLen]
	p.from, p.to, p.units = p.bytes[at[2]:][:len(like.Account)], p.bytes[at[3]:][:len(like.Account)], p.bytes[at[4]:][:3]
	return p
}

func (p *payment) fill(random *rand.Rand, from, to Member) {
	copy(p.token, from.Token)
	copy(p.from, from.Account)
	copy(p.to, to.Account)
	const letters = "0123456789abcdefghijklmnopqrstuv"
	var bits [8]byte
	for i := range p.key {
		if i%8 == 0 {
			binary.LittleEndian.PutUint64(bits[:], random.Uint64())
		}
		p.key[i] = letters[bits[i%8]%32]
	}
	amount := 100 + random.IntN(900)
	p.units[0], p.units[1], p.units[2] = byte('0'+amount/100), byte('0'+amount/10%10), byte('0'+amount%10)
}
