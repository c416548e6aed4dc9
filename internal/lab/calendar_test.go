package lab

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may have no zones

	"github.com/google/go-cmp/cmp"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// window is what a line of the experiment says.
type window struct {
	Name              string
	Hours             float64
	Admitted, Refused int
	Wait              time.Duration
	AtEnd             string
}

func windows(c CalendarDays) []window {
	var all []window
	for _, w := range c.Windows {
		admitted, refused, wait := w.inside()
		all = append(all, window{w.name(), w.Lasts.Hours(), admitted, refused, wait, w.afterwards()})
	}
	return all
}

// TestCalendarWindowsAreAsLongAsTheirPlaceSays by the dates on which clocks are changed, which stand here and not in the
// experiment. An hour's request is admitted 20 times a day and 500 times a month, so the rest says how long it was.
func TestCalendarWindowsAreAsLongAsTheirPlaceSays(t *testing.T) {
	t.Parallel()
	const in = "admitted"
	for _, c := range []struct {
		zone string
		year int
		want []window
	}{
		{"Africa/Lagos", 2026, []window{
			{"1 January", 24, 20, 4, 4 * time.Hour, in}, {"January", 744, 500, 244, 244 * time.Hour, in},
		}},
		{"Europe/Berlin", 2026, []window{
			{"1 January", 24, 20, 4, 4 * time.Hour, in}, {"29 March", 23, 20, 3, 3 * time.Hour, in},
			{"25 October", 25, 20, 5, 5 * time.Hour, in}, {"January", 744, 500, 244, 244 * time.Hour, in},
			{"March", 743, 500, 243, 243 * time.Hour, in}, {"October", 745, 500, 245, 245 * time.Hour, in},
		}},
		{"Australia/Lord_Howe", 2026, []window{ // half an hour
			{"1 January", 24, 20, 4, 4 * time.Hour, in}, {"5 April", 24.5, 20, 5, 4*time.Hour + 30*time.Minute, "-"},
			{"4 October", 23.5, 20, 4, 3*time.Hour + 30*time.Minute, "-"}, {"January", 744, 500, 244, 244 * time.Hour, in},
			{"April", 720.5, 500, 221, 220*time.Hour + 30*time.Minute, "-"}, {"October", 743.5, 500, 244, 243*time.Hour + 30*time.Minute, "-"},
		}},
	} {
		if diff := cmp.Diff(c.want, windows(CalendarWindows(c.year, []*time.Location{zone(t, c.zone)}))); diff != "" {
			t.Errorf("%s %d (-want +got):\n%s", c.zone, c.year, diff)
		}
	}
}
