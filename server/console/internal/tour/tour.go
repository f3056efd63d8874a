package tour

import (
	"embed"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// Templates has the partial "tour", which shows a Panel, or nothing.
//
//go:embed templates
var Templates embed.FS

// A Panel is the tour as pages show it.
type Panel struct {
	Words        string // how far it is
	Finished     bool
	Steps        []Step
	Action, Flag string // where its buttons lead, and of which flag the page is; "" for the list
	Asks         bool   // the user can say that a program has asked for the flag
}

// A Step is one step of the tour.
type Step struct {
	Number           int
	Title, URL, Text string
	Done, Current    bool
}

// intro is the name of the tour among the introductions that a user has seen.
const intro = "flagstaff_tour"

// A progress is what a user has done of the tour, with the flag that the user has made. A step that
// is done stays done. When the user leaves the tour, the store gets true in place of the progress.
type progress struct {
	Project   int64 `json:"project"`
	Flag      int64 `json:"flag"`
	Explained bool  `json:"explained,omitempty"`
	Asked     bool  `json:"asked,omitempty"`
	On        bool  `json:"on,omitempty"`
	Off       bool  `json:"off,omitempty"` // after it was on
}

// read returns how far the user is, nil if the user has not begun.
func read(q *shell.Request) (p *progress, left bool) {
	raw, begun := forms.ReadObject(string(q.By.User.SeenProductIntroFor))[intro]
	if !begun {
		return nil, false
	}
	p = new(progress)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, true
	}
	return p, false
}

func (p *progress) keep(q *shell.Request) error {
	return q.Service.NoteIntro(q.Context(), q.By, intro, forms.Must(json.Marshal(p)))
}

// flag returns the flag that the user has made, nil if it is gone.
func (p *progress) flag(q *shell.Request) (*management.FlagView, error) {
	if p.Flag == 0 {
		return nil, nil
	}
	ref, id := strconv.FormatInt(p.Project, 10), strconv.FormatInt(p.Flag, 10)
	f, err := shell.Known(q.Service.Flag(q.Context(), q.By, ref, id))
	if err != nil || f == nil || f.Deleted {
		return nil, err
	}
	return f, nil
}

// Leave ends the tour of the user for ever.
func Leave(q *shell.Request) error {
	return q.Service.NoteIntro(q.Context(), q.By, intro, json.RawMessage("true"))
}

// Made notes that the user has made a flag. The first one is the flag of the tour, and so is the
// next one if that is gone. The flag is made, whatever becomes of the note.
func Made(q *shell.Request, f *management.FlagView) {
	p, left := read(q)
	if left {
		return
	}
	var begins bool
	var err error
	if p == nil {
		var n int
		n, err = q.Service.FlagsMade(q.Context(), q.By)
		begins = n == 1
	} else {
		var old *management.FlagView
		old, err = p.flag(q)
		begins = old == nil
	}
	if err == nil && begins {
		err = (&progress{Project: q.At.Project.ID, Flag: f.ID}).keep(q)
	}
	if err != nil {
		q.Config.Log.WarnContext(q.Context(), "the tour does not know of a new flag", "error", err)
	}
}

// Explained notes that the user has seen who gets a flag.
func Explained(q *shell.Request, key string) error {
	p, _ := read(q)
	if p == nil || p.Explained || p.Project != q.At.Project.ID {
		return nil
	}
	if f, err := p.flag(q); err != nil || f == nil || f.Key != key {
		return err
	}
	p.Explained = true
	return p.keep(q)
}

// Asked notes that the user has asked for the flag from code, as the user says.
func Asked(q *shell.Request) error {
	p, _ := read(q)
	if p == nil {
		return nil
	}
	p.Asked = true
	return p.keep(q)
}

// Of returns the panel for a page of flags that the user may change. It is nil for a user who has
// left the tour, has made a flag before it, or is on it in another project. When all steps are done,
// the panel says so once.
func Of(q *shell.Request) (*Panel, error) {
	p, left := read(q)
	if left {
		return nil, nil
	}
	if p == nil {
		n, err := q.Service.FlagsMade(q.Context(), q.By)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return nil, Leave(q) // so that it is not asked again
		}
		p = &progress{Project: q.At.Project.ID}
	}
	if p.Project != q.At.Project.ID {
		return nil, nil
	}
	f, err := p.flag(q)
	if err != nil {
		return nil, err
	}
	if f == nil {
		p = new(progress)
	} else if before := *p; p.look(q, f) != before {
		if err := p.keep(q); err != nil {
			return nil, err
		}
	}
	v := p.panel(q, f)
	if v.Finished {
		return v, Leave(q)
	}
	return v, nil
}

// look notes what has become of the flag.
func (p *progress) look(q *shell.Request, f *management.FlagView) progress {
	p.Asked = p.Asked || f.LastCalledAt != nil ||
		q.Config.Status != nil && q.Config.Status(q.Context(), p.Project).LastRequest.After(f.CreatedAt)
	p.Off = p.Off || p.On && !f.Active
	p.On = p.On || f.Active
	return *p
}

func (p *progress) panel(q *shell.Request, f *management.FlagView) *Panel {
	page, explain, code := q.ProjectPath("/flags"), q.ProjectPath("/explain"), q.ProjectPath("/connect")
	if f != nil {
		page += "/" + strconv.FormatInt(f.ID, 10)
		explain += "?flag=" + url.QueryEscape(f.Key)
		code = page + "#code"
	}
	v := &Panel{
		Words: "all steps are done", Finished: true, Action: q.ProjectPath("/tour"), Flag: q.PathValue("flag"),
		Steps: []Step{
			{1, "Make a flag", q.ProjectPath("/flags/new"), "It decides for each person what your program does.", f != nil, false},
			{2, "See who gets it", explain, "Explain says of a person what value the flag has, and why.", p.Explained, false},
			{3, "Ask for it from code", code, "Copy the lines for Go or curl, and run them.", p.Asked, false},
			{4, "Switch it off", page, "Switch it on, and off again: programs follow at once.", p.Off, false},
		},
	}
	for i := range v.Steps {
		if s := &v.Steps[i]; !s.Done {
			s.Current, v.Asks, v.Finished = true, s.Number == 3, false
			v.Words = "step " + strconv.Itoa(s.Number) + " of " + strconv.Itoa(len(v.Steps))
			break
		}
	}
	return v
}
