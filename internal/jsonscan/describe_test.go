package jsonscan_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

func TestDescribe(t *testing.T) {
	for value, want := range map[string]string{
		`"secret"`: "a string", `["secret"]`: "an array", `{"secret":1}`: "an object", "": "nothing",
		"null": "null", "true": "true", "-1.5e3": "-1.5e3",
		strings.Repeat("9", 61): strings.Repeat("9", 60) + "…",
	} {
		if got := jsonscan.Value(value).Describe(); got != want {
			t.Errorf("%s is described as %q, want %q", value, got, want)
		}
	}
	if got, want := jsonscan.Clip([]byte(strings.Repeat("é", 40)+"x")), strings.Repeat("é", 30)+"…"; got != want {
		t.Errorf("clipped to %q, want %q", got, want)
	}
	if got, want := jsonscan.Clip([]byte("x"+strings.Repeat("é", 40))), "x"+strings.Repeat("é", 29)+"…"; got != want {
		t.Errorf("clipped to %q, want %q", got, want)
	}
}
