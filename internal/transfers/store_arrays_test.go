package transfers

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/bankapi/internal/id"
)

func TestArraysAreWhatPgxWrites(t *testing.T) {
	t.Parallel()
	types := pgtype.NewMap()
	check := func(name string, oid uint32, value any, got []byte) {
		t.Helper()
		want, err := types.Encode(oid, pgx.BinaryFormatCode, value, nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x, %v", name, got, want, err)
		}
	}
	self := func(s string) string { return s }
	ids := []AccountID{AccountID(id.New()), {}, AccountID(id.New())}
	check("uuids", pgtype.UUIDArrayOID, ids, uuids(ids, func(a AccountID) AccountID { return a }))
	numbers := []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	check("bigints", pgtype.Int8ArrayOID, numbers, bigints(numbers, func(n int64) int64 { return n }))
	small := []int16{0, -1, 201, math.MaxInt16, math.MinInt16}
	check("smallints", pgtype.Int2ArrayOID, small, smallints(small, func(n int16) int16 { return n }))
	words := []string{"", "NGN", "naïve ✓", strings.Repeat("long ", 100)}
	check("texts", pgtype.TextArrayOID, words, texts(words, self))
	bodies := [][]byte{{}, {0}, bytes.Repeat([]byte{0xff}, 300)}
	check("byteas", pgtype.ByteaArrayOID, bodies, byteas(bodies, func(b []byte) []byte { return b }))
	if got := byteas([][]byte{nil}, func(b []byte) []byte { return b }); !bytes.Equal(got[arrayHeader:], make([]byte, 4)) {
		t.Errorf("bytes that are nil: %x; want an empty value and no NULL", got)
	}
	perhaps := []pgtype.UUID{{}, {Bytes: ids[0], Valid: true}}
	check("NULL", pgtype.UUIDArrayOID, perhaps, array(pgtype.UUIDOID, 16, perhaps, func(dst []byte, u pgtype.UUID) []byte {
		if !u.Valid {
			return nil
		}
		return append(dst, u.Bytes[:]...)
	}))
	for _, moment := range []time.Time{time.UnixMicro(1_790_000_000_123_456), time.UnixMicro(0), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		check("timestamp", pgtype.TimestamptzOID, moment, timestamp(moment))
	}
}
