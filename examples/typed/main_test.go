package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
)

func TestPage(t *testing.T) {
	ctx := flagstest.With(t, t.Context(),
		flagstest.Flag("button").On().Variant("green", 100).Payload("green", `{"label": "Go"}`),
		flagstest.Flag("free-returns").On())
	if got, want := page(ctx), "several pages, free returns, a green button: Go, a border of 0"; got != want {
		t.Errorf("page returned %q, want %q", got, want)
	}
}

// The code was generated for these flags.
func TestCheck(t *testing.T) {
	client, err := flagstaff.Open(t.Context(), flagstaff.Config{File: "shop/flags.json"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())
	if err := client.Check(); err != nil {
		t.Error(err)
	}
}

// TestRun: the service answers persons by its flags, and ends when it is told to.
func TestRun(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener) }()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-User", "ada")
	r.Header.Set("X-Plan", "pro")
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if want := "one page, free returns, a green button: Buy now, a border of 1.5"; err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("the service answered %q, %v, want %q", text, err, want)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the service has ended: %v", err)
	}
}
