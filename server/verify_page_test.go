package server_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
)

// The link of a mail asks first, then works once (management.md §6.3, §6.4).
func TestVerifyPage(t *testing.T) {
	a := newAPI(t, apiSetup{})
	a.mail.messages = make(chan management.Message, 10)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.service.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	a.ok(api("PATCH", "/api/users/@me/", `{"email":"new@acme.example"}`))
	m := <-a.mail.messages
	link := regexp.MustCompile(`https://app\.example(/verify_email/\S+)`).FindStringSubmatch(m.Text)
	if link == nil || m.To != "new@acme.example" {
		t.Fatalf("mail to %s without link:\n%s", m.To, m.Text)
	}
	stranger := func(method, target string) call { return call{method: method, target: target} }

	for _, method := range []string{"HEAD", "GET", "GET"} {
		resp := stranger(method, link[1]).do(a)
		page := bodyText(t, resp)
		if resp.StatusCode != http.StatusOK || method == "GET" && !strings.Contains(page, `<form method="post">`) {
			t.Errorf("%s = %d %s", method, resp.StatusCode, page)
		}
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Type": "text/html; charset=utf-8",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", method, name, got, want)
			}
		}
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", method, policy)
		}
	}
	if got := a.ok(api("GET", "/api/users/@me/", ""))["email"]; got != "ada@acme.example" {
		t.Errorf("to look at the page has changed the address to %v", got)
	}
	for _, want := range []int{http.StatusOK, http.StatusBadRequest} { // a token is good once
		resp := stranger("POST", link[1]+"/").do(a)
		if page := bodyText(t, resp); resp.StatusCode != want {
			t.Errorf("POST = %d %s, want %d", resp.StatusCode, page, want)
		}
	}
	if got := a.ok(api("GET", "/api/users/@me/", ""))["email"]; got != "new@acme.example" {
		t.Errorf("email = %v after verification", got)
	}
	resp := stranger("PUT", link[1]).do(a)
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("PUT = %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
	for range 10 {
		resp = stranger("POST", "/verify_email/<b>/x").do(a)
	}
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the tenth guess = %d, want 429", resp.StatusCode)
	}
}

// Without mail there is no such page.
func TestNoVerifyPage(t *testing.T) {
	a := newAPI(t, apiSetup{management: func(c *management.Config) { c.Mailer = nil }})
	if resp := (call{method: "GET", target: "/verify_email/x/y"}).do(a); resp.StatusCode != http.StatusNotFound {
		t.Errorf("GET = %d, want 404", resp.StatusCode)
	}
}
