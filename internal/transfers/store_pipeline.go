package transfers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// This file is how the writer talks to its server: statements prepared once, sent in flushes, read back up to a sync.

// goodbye bounds the clean-up of a connection that may be broken.
const goodbye = time.Second

// binaryFormat is that of every parameter and of every column that is read.
var binaryFormat = []int16{pgx.BinaryFormatCode}

// send puts a statement in the flush.
func (w *writer) send(sql string, args ...[]byte) {
	w.pipeline.SendQueryStatement(w.prepared[sql], args, binaryFormat, binaryFormat)
}

// read reads one result for each reader, up to the sync. After an error of the server's it has read up to there too.
func (w *writer) read(readers ...func(pgx.Rows) error) error {
	for _, reader := range readers {
		if err := w.readOne(reader); isServers(err) {
			return w.skip(err)
		} else if err != nil {
			return err
		}
	}
	return w.skip(nil)
}

func (w *writer) readOne(reader func(pgx.Rows) error) error {
	results, err := w.pipeline.GetResults()
	if err != nil {
		return err
	}
	result, ok := results.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("%T instead of a result", results)
	}
	rows := pgx.RowsFromResultReader(w.conn.TypeMap(), result)
	err = reader(rows)
	rows.Close()
	return cmp.Or(err, rows.Err())
}

// skip goes to the sync and returns what went wrong: the error that was met before, or the first one on the way.
func (w *writer) skip(met error) error {
	for {
		switch results, err := w.pipeline.GetResults(); {
		case err != nil && !isServers(err):
			return err
		case err != nil:
			met = cmp.Or(met, err)
		case results == nil:
			return cmp.Or(met, errors.New("no sync"))
		default:
			if _, ok := results.(*pgconn.PipelineSync); ok {
				return met
			}
		}
	}
}

// isServers reports whether the server said so itself, and the connection is therefore sound.
func isServers(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr)
}

// connect sees to it that there is a connection, and that it waits for the server no longer than two thirds of what ctx
// allows: if it was lost without a word there is time for another one. The cancellation of ctx is not heeded: see
// [Service.settle].
func (w *writer) connect(ctx context.Context) error {
	if err := w.dial(ctx); err != nil {
		return err
	}
	deadline, bounded := ctx.Deadline()
	if bounded {
		deadline = deadline.Add(-time.Until(deadline) / 3)
	}
	if err := w.conn.PgConn().Conn().SetDeadline(deadline); err != nil {
		return w.broken("set the deadline of the ledger's writer", err)
	}
	return nil
}

func (w *writer) dial(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, w.config)
	if err != nil {
		return fmt.Errorf("connect the ledger's writer: %w", err)
	}
	w.conn = conn
	if _, err := conn.Exec(ctx, waitForTheDisk); err != nil {
		return w.broken("set up the ledger's writer", err)
	}
	if err := w.prepare(ctx); err != nil {
		return w.broken("prepare the ledger's statements", err)
	}
	w.startPipeline()
	return nil
}

// startPipeline starts one that lasts: connect sees to the time.
func (w *writer) startPipeline() { w.pipeline = w.conn.PgConn().StartPipeline(context.Background()) }

// restartPipeline has the pipeline forget the statements that the server skipped after an error. Nothing may be on its way.
func (w *writer) restartPipeline() {
	_ = w.pipeline.Close()
	w.startPipeline()
}

// prepare makes the statements ready in one round trip.
func (w *writer) prepare(ctx context.Context) error {
	w.prepared = make(map[string]*pgconn.StatementDescription)
	pipeline := w.conn.PgConn().StartPipeline(ctx)
	for i, sql := range statements {
		pipeline.SendPrepare(statementName(i, sql), sql, nil)
	}
	if err := pipeline.Sync(); err != nil {
		return err
	}
	for i, sql := range statements {
		results, err := pipeline.GetResults()
		if err != nil {
			return err
		}
		description, ok := results.(*pgconn.StatementDescription)
		if !ok {
			return fmt.Errorf("%T instead of a description", results)
		}
		description.Name = statementName(i, sql)
		w.prepared[sql] = description
	}
	return pipeline.Close()
}

// statementName says in the server's log, and to whoever reads along, what is executed: ledger_5_COMMIT.
func statementName(i int, sql string) string {
	return "ledger_" + strconv.Itoa(i) + "_" + strings.Fields(sql)[0]
}

// broken ends the connection after an error.
func (w *writer) broken(deed string, err error) error {
	w.close()
	return fmt.Errorf("%s: %w", deed, err)
}

// close ends the connection, and with it the transaction, after every error: a new one also sheds plans that no longer
// fit and a server that has become a standby.
func (w *writer) close() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = w.conn.Close(ctx)
	w.foresight.forget()
	if w.pipeline != nil {
		_ = w.pipeline.Close()
	}
	w.conn, w.pipeline = nil, nil
}
