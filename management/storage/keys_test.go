package storage_test

import (
	"regexp"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  func() string
		want string
	}{
		{"project", storage.NewProjectKey, `^phc_[0-9A-Za-z]{35,43}$`}, // shorter has a chance below 62⁻⁷
		{"secret", storage.NewSecretKey, `^phs_[0-9A-Za-z]{35,43}$`},
		{"personal", storage.NewPersonalKey, `^phx_[0-9A-Za-z]{35,43}$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := regexp.MustCompile(tt.want)
			seen := make(map[string]bool)
			used := make(map[rune]bool)
			for range 1000 {
				key := tt.key()
				if !want.MatchString(key) {
					t.Errorf("key %q, want %s", key, tt.want)
				}
				if seen[key] {
					t.Errorf("key %q comes twice", key)
				}
				seen[key] = true
				for _, r := range key[len("phc_"):] {
					used[r] = true
				}
			}
			if len(used) != 62 {
				t.Errorf("%d characters are in use, want 62", len(used))
			}
		})
	}
}

func TestHashKey(t *testing.T) {
	const want = "sha256$ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of abc, FIPS 180-2
	if got := storage.HashKey("abc"); got != want {
		t.Errorf("HashKey(abc) = %s, want %s", got, want)
	}
}
