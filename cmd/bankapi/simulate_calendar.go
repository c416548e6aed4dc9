package main

import (
	"errors"
	"fmt"
	"time"

	"example.com/bankapi/internal/lab"
)

type calendarCommand struct {
	Zone []string `default:"Africa/Lagos,Europe/Berlin" placeholder:"NAME,..." help:"Time zones by their IANA names. Default Africa/Lagos,Europe/Berlin."`
	Year int      `default:"2026" placeholder:"N" help:"Whose days and months, from 1970 to 2200. Default 2026."`
}

func (calendarCommand) Help() string {
	return `Of each zone the first day and month of the year are shown, and those on which its clocks are changed. The same
windows stand in a policy file as "calendar: day, zone: Europe/Berlin".`
}

// maxZones is how many pictures one page can hold.
const maxZones = 10

func (x calendarCommand) Run(c *simulateCommand, p *program) error {
	if x.Year < 1970 || x.Year > 2200 {
		return fmt.Errorf("--year: %d is not from 1970 to 2200", x.Year)
	}
	if len(x.Zone) > maxZones {
		return fmt.Errorf("--zone: at most %d zones", maxZones)
	}
	var zones []*time.Location
	for _, name := range x.Zone {
		zone, err := loadZone(name)
		if err != nil {
			return err
		}
		zones = append(zones, zone)
	}
	return c.show(p, lab.CalendarWindows(x.Year, zones))
}

// loadZone takes no name that means something else on every machine.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if name == "" || name == "Local" {
		err = errors.New("unknown")
	}
	if err != nil {
		return nil, fmt.Errorf("--zone: %q is no time zone; write its IANA name such as Africa/Lagos, Europe/Berlin or UTC", name)
	}
	return zone, nil
}
