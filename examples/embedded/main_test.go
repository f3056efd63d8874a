package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

// TestHandler: the owner's link leads to a page that takes a password, and there are pages
// of flags, but none of surveys.
func TestHandler(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const url = "http://localhost:8080"
	handler, link, err := newHandler(t.Context(), store, url)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		strings.TrimPrefix(link, url): 200, "/console/signin": 200, "/console/projects/1/flags": 303, "/console/projects/1/surveys": 404,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", url+path, nil)
		r.RemoteAddr = "127.0.0.1:50000" // others need HTTPS
		if handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("GET %s = %d, want %d", path, w.Code, want)
		}
	}
}

// TestWithoutSurveys: the program has about 40 lines, and compiles nothing of surveys.
func TestWithoutSurveys(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 50 {
		t.Errorf("main.go has %d lines, want about 40", n)
	}
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(list)) {
		if strings.HasPrefix(dep, "github.com/flagstaff-go/flagstaff/surveys") {
			t.Errorf("the program compiles %s", dep)
		}
	}
}
