package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
)

// PrintMachine says what the numbers are measured on: processor, cores, load, Go, and the version of each module whose
// path holds one of these words.
func PrintMachine(modules ...string) {
	fmt.Printf("%s, %s, %d cores", time.Now().UTC().Format(time.DateOnly), processor(), runtime.GOMAXPROCS(0))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Printf(", load %s", strings.Fields(string(load))[0])
	}
	fmt.Printf("; %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, m := range info.Deps {
		for _, word := range modules {
			if strings.Contains(m.Path, word) {
				fmt.Printf("%s %s; ", m.Path, m.Version)
				break
			}
		}
	}
	fmt.Println()
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere than on Linux: unknown
	_, name, _ := strings.Cut(string(info), "model name")
	name, _, _ = strings.Cut(strings.TrimLeft(name, "\t :"), "\n")
	if name == "" {
		return runtime.GOARCH
	}
	return name
}

// Table begins a table in Markdown.
func Table(heads ...string) {
	Row(heads...)
	Row(strings.Split(strings.Repeat("---,", len(heads)-1)+"---", ",")...)
}

// Row prints one row of it.
func Row(cells ...string) { fmt.Println("| " + strings.Join(cells, " | ") + " |") }

// Bar is a line of progress on the terminal. What was measured goes to standard output; where nobody watches, nothing
// is shown.
type Bar struct{ bar *progressbar.ProgressBar }

// StartBar begins a line of so many steps.
func StartBar(what string, steps int) Bar {
	return Bar{progressbar.NewOptions(steps,
		progressbar.OptionSetDescription(what), progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(onTerminal(os.Stderr)))}
}

// Step notes that one more step is done.
func (b Bar) Step() { _ = b.bar.Add(1) }

// Say changes what the line says.
func (b Bar) Say(what string) { b.bar.Describe(what) }

// Close takes the line away.
func (b Bar) Close() { _ = b.bar.Finish() }

// NewBar is StartBar for who only counts.
func NewBar(what string, steps int) (step func()) { return StartBar(what, steps).Step }

func onTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
