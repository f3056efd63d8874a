package forms_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// TestInitials: a picture of a person has at most two letters.
func TestInitials(t *testing.T) {
	for name, want := range map[string]string{
		"Ada Lovelace": "AL", "ada maria lovelace": "AL", "élodie": "É", "admin@localhost": "A", "  ": "", "李 小龙": "李小",
	} {
		if got := forms.Initials(name); got != want {
			t.Errorf("Initials(%q) = %q, want %q", name, got, want)
		}
	}
}
