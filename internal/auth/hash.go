package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
)

// HashParams is the price of one password hash. The zero value means OWASP's: 19,456 KiB, 2 passes, 1 thread.
type HashParams struct {
	MemoryKiB uint32
	Passes    uint32
	Threads   uint8
}

var owasp = HashParams{MemoryKiB: 19456, Passes: 2, Threads: 1}

const (
	saltLen = 16
	sumLen  = 32
)

// A hash read from the database may ask for no more than this, so that a damaged row cannot take the machine down.
var ceiling = HashParams{MemoryKiB: 1 << 20, Passes: 64, Threads: 64}

var errHashFormat = errors.New("stored password hash is malformed")

// hasher runs argon2id, so many at a time as there are slots.
type hasher struct {
	params HashParams
	slots  *semaphore.Weighted
	derive func(password, salt []byte, passes, memoryKiB uint32, threads uint8, keyLen uint32) []byte // argon2.IDKey
}

// phc is a hash in the PHC string format: $argon2id$v=19$m=19456,t=2,p=1$salt$sum
type phc struct {
	params HashParams
	salt   []byte
	sum    []byte
}

// hash returns a new hash of a normalised password. It waits for a slot until ctx ends: then [ErrBusy].
func (h *hasher) hash(ctx context.Context, password string) (phc, error) {
	stored := phc{params: h.params, salt: make([]byte, saltLen), sum: make([]byte, sumLen)}
	_, _ = rand.Read(stored.salt) // never fails
	sum, err := h.run(ctx, password, stored)
	stored.sum = sum
	return stored, err
}

// verify reports whether the password is the one that was hashed. Its cost is that of the stored hash's parameters,
// whatever the answer.
func (h *hasher) verify(ctx context.Context, password string, stored phc) (bool, error) {
	sum, err := h.run(ctx, password, stored)
	return err == nil && subtle.ConstantTimeCompare(sum, stored.sum) == 1, err
}

// decoy is a hash that costs as much to verify as a real one and that no password matches.
func (h *hasher) decoy() phc {
	stored := phc{params: h.params, salt: make([]byte, saltLen), sum: make([]byte, sumLen)}
	_, _ = rand.Read(stored.sum)
	return stored
}

func (h *hasher) run(ctx context.Context, password string, p phc) ([]byte, error) {
	if err := h.slots.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	defer h.slots.Release(1)
	return h.derive([]byte(password), p.salt, p.params.Passes, p.params.MemoryKiB, p.params.Threads, uint32(len(p.sum))), nil
}

func (p phc) String() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		p.params.MemoryKiB, p.params.Passes, p.params.Threads, b64.EncodeToString(p.salt), b64.EncodeToString(p.sum))
}

// parsePHC reads what String wrote. Errors do not quote it.
func parsePHC(s string) (phc, error) {
	fields := strings.Split(s, "$")
	if len(fields) != 6 {
		return phc{}, errHashFormat
	}
	var p phc
	_, err := fmt.Sscanf(fields[3], "m=%d,t=%d,p=%d", &p.params.MemoryKiB, &p.params.Passes, &p.params.Threads)
	if err != nil || !p.params.sane() {
		return phc{}, errHashFormat
	}
	var saltErr, sumErr error
	p.salt, saltErr = base64.RawStdEncoding.Strict().DecodeString(fields[4])
	p.sum, sumErr = base64.RawStdEncoding.Strict().DecodeString(fields[5])
	if saltErr != nil || sumErr != nil || len(p.salt) < 8 || len(p.sum) < 16 || p.String() != s {
		return phc{}, errHashFormat
	}
	return p, nil
}

func (p HashParams) sane() bool {
	return p.Passes >= 1 && p.Passes <= ceiling.Passes &&
		p.Threads >= 1 && p.Threads <= ceiling.Threads &&
		p.MemoryKiB >= 8*uint32(p.Threads) && p.MemoryKiB <= ceiling.MemoryKiB
}
