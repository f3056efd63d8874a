package flags

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
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
	Now                     int    // the version that the flag has
	From, To                string // as they were asked for
	Error                   string
	Versions                []versionView // the two; none if one of them is not there
	Different, Same         []comparedView
	Secret                  bool // payloads are encrypted, and cannot be compared
}

// A comparedView is a field of two versions.
type comparedView struct{ Place, From, To string }

func compareVersions(q *shell.Request, f *management.FlagView) error {
	q.Layout.Title = "Versions of " + f.Key
	v := &comparisonView{
		Key: f.Key, List: q.ProjectPath("/flags"), Flag: flagPath(q, f.ID), Action: q.URL.Path, Now: f.Version,
		From: q.Form.Get("from"), To: q.Form.Get("to"),
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
		v.Versions = append(v.Versions, versionView{
			FlagVersion: &management.FlagVersion{Version: n, CreatedBy: two[i].LastModifiedBy}, At: q.Moment(two[i].UpdatedAt),
		})
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
	add := func(place, a, b string) {
		switch {
		case a != b:
			v.Different = append(v.Different, comparedView{place, a, b})
		case a != "":
			v.Same = append(v.Same, comparedView{place, a, b})
		}
	}
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
		before, after := make([]string, n), make([]string, m)
		for i := range before {
			f := at(i)
			before[i] = f.get(a)
		}
		for i := range after {
			f := at(i)
			after[i] = f.get(b)
		}
		for _, pair := range pairs(before, after) {
			var was, is, place string
			i, j := pair[0], pair[1]
			if i >= 0 {
				f := at(i)
				was, place = f.say(s, a), f.place()
			}
			if j >= 0 {
				f := at(j)
				is, place = f.say(s, b), f.place()
			}
			if i >= 0 && j >= 0 && was == is && before[i] != after[j] {
				was, is = before[i], after[j]
			}
			add(place, was, is)
		}
	}
	list(conditionField, len(a.Conditions), len(b.Conditions))
	list(variantField, len(a.Variants), len(b.Variants))
	rows([]field{payload})
	rows(settings)
}

// pairs returns which elements of two lists stand side by side: as many as can that are the same, in
// their order, and between those the first with the first. An element without another one has −1.
func pairs(a, b []string) (out [][2]int) {
	same := make([][]int, len(a)+1) // how many are the same from there on
	for i := len(a); i >= 0; i-- {
		same[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0 && i < len(a); j-- {
			if same[i][j] = max(same[i+1][j], same[i][j+1]); a[i] == b[j] {
				same[i][j] = 1 + same[i+1][j+1]
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
			continue
		}
		beginA, beginB := i, j
		for (i < len(a) || j < len(b)) && (i == len(a) || j == len(b) || a[i] != b[j]) {
			if j == len(b) || i < len(a) && same[i+1][j] >= same[i][j+1] {
				i++
			} else {
				j++
			}
		}
		for n := range max(i-beginA, j-beginB) {
			pair := [2]int{beginA + n, beginB + n}
			if pair[0] >= i {
				pair[0] = -1
			}
			if pair[1] >= j {
				pair[1] = -1
			}
			out = append(out, pair)
		}
	}
	return out
}
