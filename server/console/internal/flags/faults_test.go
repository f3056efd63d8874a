package flags_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/faulttest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestFaultsOfFlags: what is wrong with a field of a flag stands beside the field, found by its
// path. Beside filters as JSON stands the path.
func TestFaultsOfFlags(t *testing.T) {
	s := consoletest.NewSite(t)
	var patch management.FlagPatch
	consoletest.Fatal(t, json.Unmarshal([]byte(faulttest.Flag), &patch))
	f, err := s.Service.CreateFlag(t.Context(), s.Owner, "1", patch)
	consoletest.Fatal(t, err)
	path := s.EditPath(f.Key)
	form := s.Get(path).Want(200).Form("form")
	raw := s.Post(path, consoletest.With(form, "do", "to-json")).Want(200).Form("form")
	for _, fault := range faulttest.Flags {
		if fault.Field != "" {
			if !form.Has(fault.Field) {
				t.Errorf("the form has no field %s", fault.Field)
			}
			s.Post(path, consoletest.With(form, "do", "save", fault.Field, typed(&fault))).Says(fault.Path, cmp.Or(fault.Beside,
				fault.Field), "")
		}
		if strings.HasPrefix(fault.Path, "filters/") {
			var whole struct{ Filters json.RawMessage }
			consoletest.Fatal(t, json.Unmarshal([]byte(fault.In(faulttest.Flag)), &whole))
			s.Post(path, consoletest.With(raw, "do", "save", "json", string(whole.Filters))).Says(fault.Path, "json",
				fault.Inner()+": "+fault.Text)
		}
	}
}

// typed returns what somebody types into the field of a fault.
func typed(f *faulttest.Fault) string { return cmp.Or(f.Typed, strings.Trim(f.Value, `"`)) }
