package console_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
)

// BenchmarkFlags is the list of flags of a project with 10,000 of them: newest first, sorted,
// and searched. Each shall take at most 50 ms.
func BenchmarkFlags(b *testing.B) {
	s := newSite(b)
	demo := s.flag("checkout-button")
	stored, err := s.store.Flag(b.Context(), 1, demo.ID)
	fatal(b, err)
	fatal(b, s.store.Atomic(b.Context(), func(store management.Store) error {
		for i := range 10_000 {
			f := management.NewFlag(1, time.Now())
			f.Key, f.Name, f.Filters, f.Tags = fmt.Sprintf("flag-%05d", i), "One of many.", stored.Filters, []string{fmt.Sprintf("team-%d", i%20)}
			if err := store.CreateFlag(b.Context(), f); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, query := range []string{"", "?sort=key&page=100", "?q=flag-0999"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				if a := s.get("/projects/1/flags" + query); a.status != 200 {
					b.Fatal(a.status)
				}
			}
		})
	}
}
