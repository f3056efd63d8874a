package flags

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/sides"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

var compareScreen = shell.Screen{
	Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/flags/{flag}/compare": shell.About(compareVersions, flag),
	},
}

// A comparisonView is two versions of a flag side by side.
type comparisonView struct {
	shell.Layout
	Key, List, Flag, Action string
	From, To                string     // as they were asked for
	Error                   string     // if one of them is not there
	Sides                   sides.View // otherwise
	Secret                  bool       // payloads are encrypted, and cannot be compared
}

func compareVersions(q *shell.Request, f *management.FlagView) error {
	q.Layout.Title = "Versions of " + f.Key
	v := &comparisonView{
		Key: f.Key, List: q.ProjectPath("/flags"), Flag: flagPath(q, f.ID), Action: q.URL.Path,
		From: q.Form.Get("from"), To: q.Form.Get("to"), Sides: sides.View{Alike: "The two versions are the same."},
	}
	if v.To == "" {
		v.To = strconv.Itoa(f.Version)
	}
	if v.From == "" {
		v.From = strconv.Itoa(max(1, f.Version-1))
	}
	var two [2]*management.FlagView
	for i, asked := range []string{v.From, v.To} {
		n, err := strconv.Atoi(asked)
		if err == nil {
			two[i], err = q.Service.FlagVersion(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), n)
		}
		if err != nil && !errors.Is(err, strconv.ErrSyntax) && !errors.Is(err, strconv.ErrRange) && !shell.IsRefusal(err) {
			return err
		}
		if err != nil {
			v.Error = "There is no version “" + asked + "” of the flag. The newest one is version " + strconv.Itoa(f.Version) + "."
			return q.Render(http.StatusNotFound, "flag_compare", v)
		}
		head := &v.Sides.Heads[i]
		*head = sides.Head{Name: "Version " + asked, At: q.Moment(two[i].UpdatedAt), By: shell.AuthorName(two[i].LastModifiedBy)}
		if n == f.Version {
			head.Tag = "now"
		}
	}
	names, err := vocabulary(q, two[:])
	if err != nil {
		return err
	}
	s := &speaker{names: names}
	if s.groupTypes, err = q.GroupTypes(); err != nil {
		return err
	}
	v.compare(s, two[0], two[1])
	return q.Render(http.StatusOK, "flag_compare", v)
}

// compare fills in the fields of two versions.
func (v *comparisonView) compare(s *speaker, from, to *management.FlagView) {
	v.Secret = from.EncryptedPayloads || to.EncryptedPayloads
	add := v.Sides.Add
	for _, state := range []struct {
		name     string
		from, to bool
	}{{"active", from.Active, to.Active}, {"archived", from.Archived, to.Archived}, {"deleted", from.Deleted, to.Deleted}} {
		say := func(is bool) string { return s.names.Value(state.name, strconv.FormatBool(is)) }
		add(flagPlace(state.name), say(state.from), say(state.to))
	}
	a, b := formOf(from), formOf(to)
	rows := func(list []field) {
		for i := range list {
			was, is := s.both(&list[i], a, b)
			add(list[i].place(), was, is)
		}
	}
	rows(details)
	list := func(at func(int) field, n, m int) {
		parts := func(form *flagForm, n int) []sides.Part {
			out := make([]sides.Part, n)
			for i := range out {
				f := at(i)
				out[i] = sides.Part{Place: f.place(), Words: f.say(s, form), Stored: f.get(form)}
			}
			return out
		}
		v.Sides.AddLists(parts(a, n), parts(b, m))
	}
	if a.Type != "" {
		list(ruleField, len(a.Rules), len(b.Rules))
		rows([]field{defaultValue})
		rows(settings[:settingsOfRules])
		return
	}
	list(conditionField, len(a.Conditions), len(b.Conditions))
	list(variantField, len(a.Variants), len(b.Variants))
	rows([]field{payload})
	rows(settings)
}
