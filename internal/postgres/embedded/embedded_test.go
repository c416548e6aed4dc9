package embedded

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		a := time.Now()
		s, err := Start(t.Context(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(s.URL(), time.Since(a))
		c, err := pgx.Connect(t.Context(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		var v string
		c.QueryRow(t.Context(), "select version()").Scan(&v)
		t.Log(v)
		c.Close(t.Context())
		_, err = Start(t.Context(), Options{Dir: dir})
		t.Log(err)
		j, err := Join(t.Context(), Options{Dir: dir})
		t.Log(j.URL(), err)
		a = time.Now()
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(a))
	}
}
