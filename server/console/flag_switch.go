package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// askAbove is the share of the persons that were seen last, in percent, above which a
// switch that changes their value asks first.
const askAbove = 10

// A switchView is the page that asks before a flag is switched.
type switchView struct {
	layout
	Key, Verb string // Verb is on or off
	Action    string
	Cancel    string
	Back      string // the query of the list to go back to
	From      string // list or flag
	To        string
	Version   int
	Protected bool
	Error     string
	effectView
}

// switchPatch returns the change that a switch is.
func switchPatch(f *management.FlagView, on bool) management.PreviewPatch {
	var p management.PreviewPatch
	p.ID, p.Active = optional.Of(f.ID), optional.Of(on)
	return p
}

func (q *request) switchTarget() (f *management.FlagView, on bool, err error) {
	switch q.Form.Get("to") {
	case "on":
		on = true
	case "off":
	default:
		return nil, false, errForm
	}
	f, err = q.c.Service.Flag(q.Context(), q.by, q.ref, q.PathValue("flag"))
	return f, on, err
}

// switchPage asks whether a flag shall be switched.
func switchPage(q *request) error {
	f, on, err := q.switchTarget()
	if err != nil {
		return err
	}
	return q.askSwitch(http.StatusOK, f, on, "")
}

func (q *request) askSwitch(status int, f *management.FlagView, on bool, refusal string) error {
	v := &switchView{
		Key: f.Key, Verb: map[bool]string{true: "on", false: "off"}[on], Action: q.flagPath(f.ID) + "/switch", Back: q.Form.Get("back"), From: q.Form.Get("from"),
		Version: f.Version, Protected: slices.Contains(f.Tags, protectedTag), Error: refusal,
	}
	v.To, v.Cancel = v.Verb, q.switchedTo(f, "")
	q.layout.Title = "Switch " + f.Key + " " + v.Verb
	v.layout = q.layout
	if refusal == "" {
		effect, err := q.effect(switchPatch(f, on))
		if e, ok := errors.AsType[*management.Error](err); ok {
			v.Error, status = e.Detail, http.StatusUnprocessableEntity
		} else if err != nil {
			return err
		} else {
			v.effectView = *effect
			v.Changes = nil // there is only one
			if aboutGroups(readFilters(f.Filters)) {
				v.Caveat = groupCaveat
			}
		}
	}
	q.render(status, "flag_switch", v)
	return nil
}

// switchedTo returns where to go after a switch: to the list as it was, or to the flag.
// Only a query comes from the request.
func (q *request) switchedTo(f *management.FlagView, done string) string {
	to, query := q.flagPath(f.ID), url.Values{}
	if q.Form.Get("from") == "list" {
		to = q.projectPath("/flags")
		back, _ := url.ParseQuery(q.Form.Get("back")) // what cannot be read is left out
		query, _ = url.ParseQuery(readFlagsQuery(back).encode())
	}
	if done != "" {
		query.Set("done", done)
	}
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	return to
}

// switchFlag switches a flag on or off. It asks first if the flag is protected, or if
// many persons get another value.
func switchFlag(q *request) error {
	f, on, err := q.switchTarget()
	if err != nil {
		return err
	}
	verb := q.Form.Get("to")
	if f.Active == on {
		return q.redirect(q.switchedTo(f, verb))
	}
	version, _ := strconv.Atoi(q.PostForm.Get("version"))
	if q.PostForm.Get("confirmed") != strconv.Itoa(f.Version) || version != f.Version {
		ask, err := q.asksFirst(f, on)
		if err != nil {
			return err
		}
		if ask {
			back := url.Values{"to": {verb}, "from": {q.Form.Get("from")}, "back": {q.Form.Get("back")}}
			return q.redirect(q.flagPath(f.ID) + "/switch?" + back.Encode())
		}
	}
	patch := management.FlagPatch{Active: optional.Of(on), IfVersion: &f.Version}
	_, err = q.c.Service.UpdateFlag(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), patch)
	e, refused := errors.AsType[*management.Error](err)
	switch {
	case refused && errors.Is(e, management.ErrInvalid):
		return q.askSwitch(http.StatusUnprocessableEntity, f, on, e.Detail)
	case err != nil:
		return err
	}
	return q.redirect(q.switchedTo(f, verb))
}

// asksFirst reports whether a switch is to be confirmed: the flag is protected, or the
// switch reaches many persons, or it is not known how many. One that the Service refuses is
// not asked about.
func (q *request) asksFirst(f *management.FlagView, on bool) (bool, error) {
	if slices.Contains(f.Tags, protectedTag) || aboutGroups(readFilters(f.Filters)) {
		return true, nil
	}
	p, err := q.c.Service.PreviewFlag(q.Context(), q.by, q.ref, switchPatch(f, on))
	if isRefusal(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	changed := p.Changed
	for _, o := range p.OtherFlags {
		changed = max(changed, o.Changed)
	}
	return changed*100 > askAbove*p.Subjects, nil
}
