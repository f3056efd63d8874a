package console_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/server/console"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/surveys"
	screens "github.com/flagstaff-go/flagstaff/surveys/console"
)

// A site is a console with the screens of surveys.
type site struct {
	*consoletest.Site
	surveys *surveys.Service
}

// stores are copies of the store that sites have, with surveys.
var stores = sqlitetest.NewTemplate(consoletest.Fill, surveys.Extension())

func newSite(t testing.TB) *site {
	t.Helper()
	return newSiteOn(t, stores.Open(t), surveys.Config{})
}

func newSiteOn(t testing.TB, store sqlstore.Storage, config surveys.Config) *site {
	t.Helper()
	s := new(site)
	s.Site = consoletest.Setup{
		Store:      store,
		Management: func(c *management.Config) { c.FlagUsers = surveys.FlagUsers{} },
		Console: func(c *console.Config) {
			var err error
			config.Management = c.Service
			s.surveys, err = surveys.New(config)
			consoletest.Fatal(t, err)
			c.Screens = append(c.Screens, screens.Screens(s.surveys))
		},
	}.Site(t)
	s.Extra = s
	s.More = map[string]func() (any, error){"survey": func() (any, error) {
		list, err := s.surveys.List(t.Context(), s.Owner, "1", surveys.Filter{}, 1000, 0)
		return list.Items, err
	}}
	return s
}

// with runs an action on a site with surveys.
func with(run func(*site) (string, url.Values)) func(*consoletest.Site) (string, url.Values) {
	return func(s *consoletest.Site) (string, url.Values) { return run(s.Extra.(*site)) }
}

// TestEvilTexts: what people and programs write is text on every page about surveys, and nothing
// leads away from the console.
func TestEvilTexts(t *testing.T) {
	s := newSite(t)
	for i, v := range consoletest.Vectors {
		asked := s.Survey(fmt.Sprintf(`{"name":%[3]s,"description":%[1]s,"type":"popover","start_date":"2026-01-01T00:00:00Z","questions":[
			{"id":"words","type":"open","question":%[2]s,"description":%[1]s,"descriptionContentType":"html","buttonText":%[1]s},
			{"id":"choice","type":"single_choice","question":%[2]s,"choices":[%[2]s,"b"],"hasOpenChoice":true},
			{"id":"rate","type":"rating","question":%[2]s,"scale":5,"lowerBoundLabel":%[1]s,"upperBoundLabel":%[1]s}],
			"conditions":{"url":%[1]s,"selector":%[1]s,"events":{"values":[{"name":%[2]s}]}},"appearance":{"thankYouMessageHeader":%[1]s,
				"displayThankYouMessage":true,"placeholder":%[1]s,
				"unknown":%[1]s}}`, consoletest.Quoted(t, v), consoletest.Quoted(t, "evil "+v), consoletest.Quoted(t, fmt.Sprint(i, v))))
		s.Answered(asked, "sent", time.Now(), v, map[string]any{"words": v, "choice": v, "rate": 5})

	}
	s.Crawl(consoletest.Routes(screens.Screens(nil), "GET"), []string{"/console/projects/1/surveys"}, 3)
}

// TestFormsKeepAndTell: the forms of surveys keep what was typed, and say what is wrong beside its
// field (management.md §5.11).
func TestFormsKeepAndTell(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	valid := map[string]map[string]string{"/projects/1/surveys/new form": {"name": "A fresh one", "q1.question": "Why?"}}
	if sent := s.KeepAndTell([]string{"/projects/1/surveys/new", s.Draft()}, valid); sent < 20 {
		t.Errorf("%d forms were sent", sent)
	}
}
