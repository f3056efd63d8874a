package management_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func TestScopeValid(t *testing.T) {
	// The objects of management.md §1.4.
	objects := strings.FieldsSeq(`action activity_log annotation batch_export cohort dashboard early_access_feature event_definition
		experiment export feature_flag group insight integration notebook organization organization_member person plugin project
		property_definition query session_recording sharing_configuration subscription survey user webhook`)
	for object := range objects {
		for action, want := range map[string]bool{":read": true, ":write": true, "": false, ":": false, ":*": false, ":Read": false, ":read:write": false, ":admin": false} {
			if got := management.Scope(object + action).Valid(); got != want {
				t.Errorf("Scope(%q).Valid() = %t, want %t", object+action, got, want)
			}
		}
	}
	for scope, want := range map[management.Scope]bool{
		"*": true, "": false, "*:read": false, ":read": false, "read": false, "users:read": false, "User:read": false, " user:read": false, "**": false,
	} {
		if got := scope.Valid(); got != want {
			t.Errorf("Scope(%q).Valid() = %t, want %t", scope, got, want)
		}
	}
}

// What can be given to a key is of some use, and grants what it says.
func FuzzScope(f *testing.F) {
	for _, s := range []string{"*", "user:read", "user:write", "survey", ":", "a:b:read", "organization_member:write"} {
		f.Add(s, "user:read")
	}
	f.Fuzz(func(t *testing.T, have, need string) {
		scope := management.Scope(have)
		p := &management.Principal{Key: &storage.PersonalKey{Scopes: []string{have}}}
		granted := p.Require(management.Scope(need)) == nil
		object, write := strings.CutSuffix(have, ":write")
		if want := have == "*" || have == need || write && need == object+":read"; granted != want {
			t.Errorf("a key with %q may do what needs %q: %t, want %t", have, need, granted, want)
		}
		if scope.Valid() && p.Require(scope) != nil {
			t.Errorf("a key with %q may not do what needs it", have)
		}
	})
}
