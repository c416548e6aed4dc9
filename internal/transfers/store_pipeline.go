package transfers

import (
	"cmp"
	"context"
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

// send puts a statement in the flush.
func (w *writer) send(sql string, args ...any) error {
	var query pgx.ExtendedQueryBuilder // the pipeline keeps a part of it until the rows are read
	statement := w.prepared[sql]
	if err := query.Build(w.conn.TypeMap(), statement, args); err != nil {
		return err
	}
	w.pipeline.SendQueryStatement(statement, query.ParamValues, query.ParamFormats, query.ResultFormats)
	return nil
}

// flush sends, unless something could not be put in.
func (w *writer) flush(err error) error {
	if err != nil {
		return err
	}
	return w.pipeline.Flush()
}

// read reads one result for each reader, up to the sync.
func (w *writer) read(readers ...func(pgx.Rows) error) error {
	for _, reader := range readers {
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
		if err := cmp.Or(err, rows.Err()); err != nil {
			return err
		}
	}
	_, err := w.pipeline.GetResults()
	return err
}

// idle ends a flush whose results have all been read.
func (w *writer) idle() error {
	err := w.pipeline.Close()
	w.pipeline = nil
	return err
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, w.config)
	if err != nil {
		return fmt.Errorf("connect the ledger's writer: %w", err)
	}
	w.conn = conn
	if err := w.prepare(ctx); err != nil {
		return w.broken("prepare the ledger's statements", err)
	}
	return nil
}

// prepare makes the statements ready in one round trip.
func (w *writer) prepare(ctx context.Context) error {
	w.prepared = make(map[string]*pgconn.StatementDescription)
	w.pipeline = w.conn.PgConn().StartPipeline(ctx)
	for i, sql := range statements {
		w.pipeline.SendPrepare(statementName(i, sql), sql, nil)
	}
	if err := w.pipeline.Sync(); err != nil {
		return err
	}
	for i, sql := range statements {
		results, err := w.pipeline.GetResults()
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
	return w.idle()
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
	if w.pipeline != nil {
		_ = w.pipeline.Close()
	}
	w.conn, w.pipeline = nil, nil
}
