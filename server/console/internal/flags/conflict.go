package flags

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// A conflictView is the page for somebody who has edited an older version of a flag.
type conflictView struct {
	shell.Layout
	Key, Action string
	Flag        string // where it is as it is now
	Hidden      []forms.Hidden
	Was         int // the version for which the form was made
	Version     int // as it is now
	Clashes     []clash
	Taken       []taken
	Theirs      []versionView
	Mine        shell.Effect
	MineErr     string
}

// A clash is a field of which two people want something else.
type clash struct{ ID, Name, Place, Was, Theirs, Mine string }

// A taken field is one that only one of two people has changed.
type taken struct {
	shell.Change
	Mine bool
}

// conflict shows what others have changed since a form was made, and what saving the form
// would change now.
func conflict(q *shell.Request, f *management.FlagView, form *flagForm) error {
	versions, err := q.Service.FlagVersions(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10),
		max(1, min(f.Version-form.Version, shell.PageSize)), 0)
	if err != nil {
		return keepFlag(q, err, form)
	}
	q.Layout.Title = "Somebody else changed " + f.Key
	v := &conflictView{Key: f.Key, Action: q.URL.Path, Flag: flagPath(q, f.ID), Was: form.Version, Version: f.Version}
	v.Hidden = slices.DeleteFunc(forms.HiddenFields(q.PostForm, "version", "was"), func(h forms.Hidden) bool {
		return strings.HasPrefix(h.Name, choicePrefix)
	})
	if v.Theirs, err = versionViews(q, versions.Items); err != nil {
		return keepFlag(q, err, form)
	}
	if _, v.Clashes, v.Taken, err = merge(q, f, form); err != nil {
		return keepFlag(q, err, form)
	}
	form.Version = f.Version
	if patch, ok := form.patch(f); ok {
		patch.ID = optional.Of(f.ID)
		effect, err := effects.Of(q, patch, f)
		if e, refused := errors.AsType[*management.Error](err); refused {
			v.MineErr = e.Text()
		} else if err != nil {
			return keepFlag(q, err, form)
		} else {
			v.Mine = *effect
		}
	}
	return q.Render(http.StatusConflict, "flag_conflict", v)
}

// settle shows the form with what was chosen of each field, to be reviewed and saved.
func settle(q *shell.Request, f *management.FlagView, form *flagForm) error {
	seen := form.Version
	form.Version = forms.Atoi(q.PostForm.Get("was"))
	if f.Version != seen { // once more, before the choice was made
		return conflict(q, f, form)
	}
	merged, _, _, err := merge(q, f, form)
	if err != nil {
		return keepFlag(q, err, form)
	}
	return showForm(q, http.StatusOK, f, merged, "")
}

// choicePrefix begins the names of fields that say whose value is taken, before the path.
const choicePrefix = "take "

// merge returns the form of a flag as it is now, with what somebody who has edited an older
// version has changed: of a field that others have changed as well, what the request chooses,
// theirs if it says nothing. Without the older version every difference is to be chosen.
func merge(q *shell.Request, f *management.FlagView, mine *flagForm) (merged *flagForm, clashes []clash, only []taken, err error) {
	if mine = mine.clone(); mine.AsJSON {
		filters := mine.filters()
		mine.AsJSON = false
		mine.setFilters(&filters)
	}
	theirs := formOf(f)
	all := []*flagForm{theirs, mine}
	var base *flagForm
	was, err := q.Service.FlagVersion(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), mine.Version)
	if err == nil {
		base = formOf(was)
		all = append(all, base)
	} else if !errors.Is(err, management.ErrNotFound) {
		return nil, nil, nil, err
	}
	offered, err := targeting.Offers(q, 0, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	s := &speaker{offered.Names(), offered.GroupTypes}
	merged = theirs.clone()
	merged.Comment = mine.Comment
	fields := fieldsOf(all...)
	for i := range fields {
		field := &fields[i]
		if field.get(theirs) == field.get(mine) {
			continue
		}
		switch {
		case base != nil && field.get(base) == field.get(theirs):
			field.take(merged, mine)
			before, after := s.both(field, theirs, mine)
			only = append(only, taken{shell.Change{Place: field.place(), Before: before, After: after}, true})
		case base != nil && field.get(base) == field.get(mine):
			before, after := s.both(field, mine, theirs)
			only = append(only, taken{shell.Change{Place: field.place(), Before: before, After: after}, false})
		default:
			c := clash{ID: "clash" + strconv.Itoa(len(clashes)), Name: choicePrefix + field.path, Place: field.place()}
			c.Theirs, c.Mine = s.both(field, theirs, mine)
			if base != nil {
				c.Was = field.say(s, base)
			}
			if q.PostForm.Get(c.Name) == "mine" {
				field.take(merged, mine)
			}
			clashes = append(clashes, c)
		}
	}
	return merged, clashes, only, nil
}
