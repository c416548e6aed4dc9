package lab

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/bankapi/internal/ratelimit"
)

func TestMaxInSpanIsTheMostThatAnyHalfOpenSpanHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.IntRange(1, 20).Draw(t, "length"))
		var answers []Answer
		var at time.Duration
		for range rapid.IntRange(0, 30).Draw(t, "requests") {
			at += time.Duration(rapid.IntRange(0, 6).Draw(t, "gap"))
			answers = append(answers, Answer{
				At: at, Cost: rapid.Int64Range(0, 3).Draw(t, "cost"), Allowed: rapid.Bool().Draw(t, "allowed"),
			})
		}
		var want int64
		for from := range at + 1 {
			var inside int64
			for _, a := range answers {
				if a.At >= from && a.At < from+length {
					inside += a.units()
				}
			}
			want = max(want, inside)
		}
		if got := maxInSpan(answers, length); got != want {
			t.Fatalf("%d in %d, want %d: %v", got, length, want, answers)
		}
	})
}

func TestPlayShowsWhatIsLeftBeforeAndBetweenRequests(t *testing.T) {
	t.Parallel()
	run, err := Play(ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: 1, Period: time.Second, Burst: 5},
		[]Request{{At: 0, Cost: 5}, {At: 4 * time.Second, Cost: 0}})
	if err != nil {
		t.Fatal(err)
	}
	if first := run.Left[0]; first != (Level{0, 5}) {
		t.Errorf("begins with %v, want a full bucket", first)
	}
	for _, l := range run.Left[1:] {
		if want := int64(l.At / time.Second); l.Left != want {
			t.Errorf("%v: %d left, want %d", l.At, l.Left, want)
		}
	}
}

func TestAPictureDoesNotChangeWhatItShows(t *testing.T) {
	t.Parallel()
	traffic, err := Poisson(3, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	for a := ratelimit.TokenBucket; a <= ratelimit.LeakyBucket; a++ {
		limit := ratelimit.Limit{Algorithm: a, Quota: 10, Period: 10 * time.Second}
		run, err := Play(limit, traffic)
		if err != nil {
			t.Fatal(err)
		}
		policy := fixed(ratelimit.Policy{Name: "same", OnFailure: ratelimit.FailOpen, Limit: limit})
		desk := newDesk() // asked without a look in between
		for i, r := range traffic {
			st := desk.take(r.At, ratelimit.Claim{Policy: policy, Key: caller, Cost: 1})
			if got := run.Answers[i]; got.Allowed != st.Allowed || got.Left != st.Remaining || got.Wait != st.Wait {
				t.Fatalf("%v, request %d: %+v, without looking %+v", a, i, got, st)
			}
		}
	}
}

func TestPlayRefusesAnImpossibleLimit(t *testing.T) {
	t.Parallel()
	if _, err := Play(ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Period: time.Second}, nil); err == nil {
		t.Error("a quota of 0 was played")
	}
}

func TestRunsAreJSONInMilliseconds(t *testing.T) {
	t.Parallel()
	run, err := Play(ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: 1, Period: time.Second, Burst: 2},
		[]Request{{At: 0, Cost: 2}, {At: 500 * time.Microsecond, Cost: 1}, {At: time.Millisecond, Cost: 3}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"algorithm":"token-bucket","limit":"1/1s burst 2","admitted":1,"refused":2,"span_ms":1000,"max_in_span":2,"answers":[` +
		`{"at_ms":0,"cost":2,"allowed":true,"left":0,"wait_ms":0},` +
		`{"at_ms":0.5,"cost":1,"allowed":false,"left":0,"wait_ms":999.5},` +
		`{"at_ms":1,"cost":3,"allowed":false,"never":true,"left":0,"wait_ms":0}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
