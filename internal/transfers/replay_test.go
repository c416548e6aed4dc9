package transfers

import (
	"testing"

	"example.com/bankapi/internal/id"
)

func TestWhatWasAnsweredLatelyIsRemembered(t *testing.T) {
	t.Parallel()
	l := newLately(1 << 10)
	names := make([]name, 100)
	for i := range names {
		names[i] = name{owner: OwnerID(id.New()), scope: "POST /transfers", key: "k"}
		if l.place(names[i]).remembered() {
			t.Errorf("order %d was never answered", i)
		}
		l.place(names[i]).remember()
		if !l.place(names[i]).remembered() {
			t.Errorf("order %d was answered just now", i)
		}
	}
	kept := 0
	for _, n := range names {
		if l.place(n).remembered() {
			kept++
		}
	}
	if kept < 50 {
		t.Errorf("%d of 100 are remembered in 1024 places", kept)
	}
}

// Attempt 1 lost its connection; attempt 2, under locks, did not find what it had sent, and lost its connection too; then
// the server came to what attempt 1 had sent. Attempt 3 finds that.
func TestAnOlderAttemptIsRecognised(t *testing.T) {
	t.Parallel()
	r := &request{}
	first := Receipt{Response: Response{Status: 201, Body: []byte("one")}, Transfer: TransferID{1}}
	second := Receipt{Response: Response{Status: 201, Body: []byte("two")}, Transfer: TransferID{2}}
	for _, attempt := range []Receipt{first, second} {
		failed := turn{batch: []*request{r}, verdicts: []verdict{{receipt: attempt}}}
		failed.anew()
	}
	found, others := first, Receipt{Response: first.Response, Transfer: TransferID{3}}
	for receipt, want := range map[*Receipt]bool{&found: false, &others: true} {
		receipt.Replayed = true
		if r.recognise(receipt); receipt.Replayed != want {
			t.Errorf("%+v, want replayed %v", receipt, want)
		}
	}
}
