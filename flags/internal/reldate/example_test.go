package reldate_test

import (
	"fmt"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
)

func Example() {
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

	// created_at is_date_after "-7d"
	week, _ := reldate.Parse("-7d", time.UTC)
	bound, _ := week.At(now, time.UTC)
	fmt.Println(week.Relative(), bound)

	for _, s := range []string{"2026-11-14", "1794571201", "2026-11-13T14:00:00+02:00"} {
		created, ok := reldate.Property(s, now, time.UTC)
		fmt.Println(s, ok && created.After(bound))
	}
	// Output:
	// true 2026-11-13 12:00:00 +0000 UTC
	// 2026-11-14 true
	// 1794571201 true
	// 2026-11-13T14:00:00+02:00 false
}
