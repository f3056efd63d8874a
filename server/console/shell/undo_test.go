package shell_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestRuling100Undo: an undo takes back one change, of the thing as the change has left it,
// and can be taken back itself.
func TestRuling100Undo(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.EditPath("retired")
	page := s.Get(path)
	last := s.Post(path, consoletest.With(page.Form("form"), "name", "Mine", "do", "save")).Want(303)
	to, undo := s.Get(strings.TrimPrefix(last.Header.Get("Location"), "/console")).Undo()
	s.Update("retired", `{"name":"Theirs"}`)
	s.Post(to, undo).Want(409, "This cannot be undone any more").CheckPage()
	if name := s.Flag("retired").Name; name != "Theirs" {
		t.Errorf("name %q", name)
	}

	// Back, and forth.
	was := s.Flag("retired").Name
	last = s.Post(path, consoletest.With(s.Get(path).Form("form"), "name", "Mine", "do", "save")).Want(303)
	for _, want := range []string{was, "Mine", was} {
		to, undo := s.Get(strings.TrimPrefix(last.Header.Get("Location"), "/console")).Undo()
		if last = s.Post(to, undo).Want(303); s.Flag("retired").Name != want {
			t.Fatalf("name %q, want %q", s.Flag("retired").Name, want)
		}
	}

	// Nothing that was made up is done.
	for _, form := range []url.Values{
		{},
		{"undo": {"what=Else"}, "back": {"/console/"}},
		{"undo": undo["undo"], "back": {"https://example.com/"}},
		{"undo": undo["undo"]},
		{"undo": {"what=Name&item=@me&mark=[]"}, "back": {"/console/"}},
		{"undo": {"what=Person&mark=1"}, "back": {"/console/"}},
		{"undo": {"what=FeatureFlag&item=1&mark=x"}, "back": {"/console/"}},
	} {
		if a := s.Post(to, form); a.Status != 400 {
			t.Errorf("%v: status %d", form, a.Status)
		}
	}
	s.Post(to, url.Values{"undo": {"what=FeatureFlag&item=999&mark=1"}, "back": {"/console/"}}).Want(409)
	s.Token = ""
	s.Post(to, undo).Want(401)
}
