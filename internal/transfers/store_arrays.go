package transfers

import (
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// This file writes columns as arrays in PostgreSQL's binary format, straight from rows: a batch has seventeen, and to have
// each value boxed and looked at by reflection took longer than judging it. TestArraysAreWhatPgxWrites compares.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-FORMAT-CODES

const arrayHeader = 5 * 4 // dimensions, whether there are nulls, type of the elements, length, lower bound

// array has an element for each row; cell appends its value, or returns nil for NULL.
func array[Row any](element uint32, size int, rows []Row, cell func(dst []byte, row Row) []byte) []byte {
	a := make([]byte, arrayHeader, arrayHeader+len(rows)*(4+size))
	binary.BigEndian.PutUint32(a[0:], 1)
	binary.BigEndian.PutUint32(a[8:], element)
	binary.BigEndian.PutUint32(a[12:], uint32(len(rows)))
	binary.BigEndian.PutUint32(a[16:], 1)
	for _, row := range rows {
		start := len(a)
		a = append(a, 0xff, 0xff, 0xff, 0xff) // the length of a NULL
		if value := cell(a, row); value == nil {
			binary.BigEndian.PutUint32(a[4:], 1)
		} else {
			a = value
			binary.BigEndian.PutUint32(a[start:], uint32(len(a)-start-4))
		}
	}
	return a
}

func uuids[Row any, ID ~[16]byte](rows []Row, of func(Row) ID) []byte {
	return array(pgtype.UUIDOID, 16, rows, func(dst []byte, row Row) []byte {
		value := of(row)
		return append(dst, value[:]...)
	})
}

func bigints[Row any, N ~int64](rows []Row, of func(Row) N) []byte {
	return array(pgtype.Int8OID, 8, rows, func(dst []byte, row Row) []byte {
		return binary.BigEndian.AppendUint64(dst, uint64(of(row)))
	})
}

func smallints[Row any](rows []Row, of func(Row) int16) []byte {
	return array(pgtype.Int2OID, 2, rows, func(dst []byte, row Row) []byte {
		return binary.BigEndian.AppendUint16(dst, uint16(of(row)))
	})
}

func texts[Row any](rows []Row, of func(Row) string) []byte {
	return array(pgtype.TextOID, 16, rows, func(dst []byte, row Row) []byte { return append(dst, of(row)...) })
}

func byteas[Row any](rows []Row, of func(Row) []byte) []byte {
	return array(pgtype.ByteaOID, 64, rows, func(dst []byte, row Row) []byte { return append(dst, of(row)...) })
}

// timestamp is a value of timestamptz: microseconds since the year 2000.
func timestamp(t time.Time) []byte {
	micros := t.UnixMicro() - time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	return binary.BigEndian.AppendUint64(nil, uint64(micros))
}
