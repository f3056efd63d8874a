package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// maxFirstPage is how many bytes a browser loads to show the first page to somebody who is
// signed in, compressed, with the files that the page needs.
const maxFirstPage = 60_000

func TestFirstPage(t *testing.T) {
	s := consoletest.NewSite(t)
	demo, err := s.Store.Flags().Get(t.Context(), storage.FlagProject.Is(1), storage.FlagID.Is(s.Flag("checkout-button").ID))
	consoletest.Fatal(t, err)
	consoletest.Fatal(t, s.Store.Atomic(t.Context(), func(store storage.Store) error {
		for i := range 60 {
			f := storage.NewFlag(1, time.Now())
			f.Key, f.Name, f.Filters, f.Tags = fmt.Sprintf("flag-%05d", i), fmt.Sprintf("The number %d of many, with a description.", i),
				demo.Filters, []string{fmt.Sprintf("team-%d", i%20)}
			if err := store.Flags().Create(t.Context(), f); err != nil {
				return err
			}
		}
		return nil
	}))
	size := func(path string) int {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "https://flags.example.com"+path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		a := s.Do(r).Want(http.StatusOK)
		if a.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", path)
		}
		t.Logf("%6d bytes: %s", len(a.Body), path)
		return len(a.Body)
	}
	page := s.Get("/projects/1/flags").Want(http.StatusOK, "1 to 50 of")
	all := size("/console/projects/1/flags")
	files := make(map[string]bool)
	for part := range strings.SplitSeq(page.Body, `"`) {
		if strings.HasPrefix(part, "/console/static/") && !files[part] {
			files[part] = true
			all += size(part)
		}
	}
	if len(files) < 2 || all > maxFirstPage {
		t.Errorf("the first page needs %d files and %d bytes, want a style, a script and at most %d bytes", len(files), all, maxFirstPage)
	}
}
