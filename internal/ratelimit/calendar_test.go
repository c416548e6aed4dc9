package ratelimit_test

import (
	"net/http"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/storetest"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func calendar(c ratelimit.Calendar, quota int64, z *time.Location) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: quota, Calendar: c, Zone: z}
}

// TestCalendarWindows: each begins where the one before ended and is as long as it really was.
func TestCalendarWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone   string
		window ratelimit.Calendar
		start  string // in UTC
		hours  float64
	}{
		{"UTC", ratelimit.Day, "2026-09-24T00:00:00Z", 24},
		{"Europe/Berlin", ratelimit.Day, "2026-03-27T23:00:00Z", 24},
		{"Europe/Berlin", ratelimit.Day, "2026-03-28T23:00:00Z", 23},
		{"Europe/Berlin", ratelimit.Day, "2026-10-24T22:00:00Z", 25},
		{"Europe/Berlin", ratelimit.Month, "2026-02-28T23:00:00Z", 31*24 - 1},
		{"Africa/Lagos", ratelimit.Day, "2026-03-28T23:00:00Z", 24},
		{"UTC", ratelimit.Month, "2028-02-01T00:00:00Z", 29 * 24},
		{"UTC", ratelimit.Month, "2026-12-01T00:00:00Z", 31 * 24},
		{"Australia/Lord_Howe", ratelimit.Day, "2026-04-04T13:00:00Z", 24.5}, // half an hour back
		{"America/Havana", ratelimit.Day, "2026-11-01T04:00:00Z", 25},        // midnight twice
		{"America/Sao_Paulo", ratelimit.Day, "2018-11-04T03:00:00Z", 23},     // no midnight
		{"America/Sao_Paulo", ratelimit.Day, "2018-02-17T02:00:00Z", 25},     // back from midnight
		{"America/St_Johns", ratelimit.Day, "2010-11-06T02:30:00Z", 24},      // back from 00:01 of the day after ...
		{"America/St_Johns", ratelimit.Day, "2010-11-07T02:30:00Z", 25},      // ... whose minute counts in that day
		{"Pacific/Apia", ratelimit.Day, "2011-12-29T10:00:00Z", 24},          // no 30 December
		{"Pacific/Apia", ratelimit.Day, "2011-12-30T10:00:00Z", 24},
	} {
		w := calendar(c.window, 1, zone(t, c.zone)).Window()
		start, err := time.Parse(time.RFC3339, c.start)
		if err != nil {
			t.Fatal(err)
		}
		first := ratelimit.InstantOf(start)
		end := first + ratelimit.Instant(c.hours*3_600_000_000)
		for at, want := range map[ratelimit.Instant]ratelimit.Instant{first - 1: first, first: end, (first + end) / 2: end, end - 1: end} {
			s, _ := w.Take(ratelimit.WindowState{}, at, 1)
			if s.End != want {
				t.Errorf("%s: the %v of %v ends at %v, want %v", c.zone, c.window,
					time.UnixMicro(int64(at)).UTC(), time.UnixMicro(int64(s.End)).UTC(), time.UnixMicro(int64(want)).UTC())
			}
		}
	}
}

// TestCalendarWindowsCoverTheYears walks through years in which odd things happened to clocks. By definition a window
// holds the instants whose latest date so far is its own.
func TestCalendarWindowsCoverTheYears(t *testing.T) {
	t.Parallel()
	const step = 1_800_000_000 // 30 minutes
	for _, name := range []string{
		"Europe/Berlin", "America/Havana", "America/Sao_Paulo", "America/St_Johns", "Pacific/Apia", "Africa/Cairo", "Asia/Kathmandu",
	} {
		z := zone(t, name)
		w := calendar(ratelimit.Day, 1, z).Window()
		latest, end := "", ratelimit.Instant(0)
		for now := ratelimit.InstantOf(time.Date(2009, 12, 31, 0, 0, 0, 0, z)); now < 1_356_998_400_000_000; now += step {
			s, _ := w.Take(ratelimit.WindowState{}, now, 1)
			date := time.UnixMicro(int64(now)).In(z).Format(time.DateOnly)
			if begun := date > latest; begun != (s.End != end) {
				t.Fatalf("%s, %v: a window begins: %v, it should: %v", name, time.UnixMicro(int64(now)).In(z), s.End != end, begun)
			}
			if s.End <= now {
				t.Fatalf("%s, %v: the window is over", name, time.UnixMicro(int64(now)).In(z))
			}
			latest, end = max(latest, date), s.End
		}
	}
}

func TestCalendarQuotaUntilMidnight(t *testing.T) {
	t.Parallel()
	c := storetest.NewClock(time.Date(2026, 9, 24, 23, 59, 59, 500_000_000, time.UTC))
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now), Now: c.Now}
	daily := policy(t, "daily", calendar(ratelimit.Day, 1000, nil), ratelimit.FailOpen)
	l.Take(t.Context(), claim(daily, "k", 1000))
	d := l.Take(t.Context(), claim(daily, "k", 1))
	if d.Allowed || d.RetryAfter != 500*time.Millisecond {
		t.Errorf("half a second before midnight: %+v, want to wait 500ms", d)
	}
	h := http.Header{}
	ratelimit.WriteHeaders(h, d)
	want := http.Header{
		"Ratelimit": {`"daily";r=0;t=1`}, "Ratelimit-Policy": {`"daily";q=1000;w=86400`}, "Retry-After": {"1"},
		"X-Ratelimit-Limit": {"1000"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1790294400"},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if c.Advance(d.RetryAfter); !l.Take(t.Context(), claim(daily, "k", 1000)).Allowed {
		t.Error("refused at midnight")
	}
}

// TestBoundsLetAnotherClockChoose: whichever of two clocks less than half a day apart says what, a store ends a window
// at the end that its own clock says.
func TestBoundsLetAnotherClockChoose(t *testing.T) {
	t.Parallel()
	l := calendar(ratelimit.Day, 1, zone(t, "Europe/Berlin"))
	w := l.Window()
	for hour := range 24 * 400 {
		now := time.Date(2026, 1, 1, hour, 17, 0, 0, time.UTC)
		for _, apart := range []time.Duration{0, time.Microsecond, time.Minute, 11 * time.Hour} {
			for _, store := range []time.Time{now.Add(-apart), now.Add(apart)} {
				first, second := l.Bounds(ratelimit.InstantOf(now))
				at := ratelimit.InstantOf(store)
				want, _ := w.Take(ratelimit.WindowState{}, at, 1)
				if got := next(at, first, second); got != want.End {
					t.Fatalf("it is %v here and %v there: bounds %v and %v, want %v", now, store, first, second, want.End)
				}
			}
		}
	}
}

func next(now ratelimit.Instant, ends ...ratelimit.Instant) ratelimit.Instant {
	for _, end := range ends {
		if now < end {
			return end
		}
	}
	return 0
}
