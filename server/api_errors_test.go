package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server"
)

// TestAPISecrets: whatever goes wrong, neither answers nor the log nor metrics
// show what was sent.
func TestAPISecrets(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, apiSetup{server: func(c *server.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Management.AllowKeyInBody = true
	}})
	failing := newAPI(t, apiSetup{
		management: func(c *management.Config) {
			c.Store = brokenStore{c.Store.(sqlstore.Storage), errors.New("store is down")}
		},
		server: func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) },
	})
	const secret = "hunter2"
	for _, c := range []call{
		api("GET", "/api/users/@me", "").with("phx_hunter2"),
		api("GET", "/api/users/@me?personal_api_key=phx_hunter2", "", "Authorization", ""),
		api("PATCH", "/api/users/@me", `{"password":"hunter2","current_password":"hunter2"}`),
		api("PATCH", "/api/users/@me", `{"personal_api_key":"phx_hunter2"}`, "Authorization", ""),
		api("PATCH", "/api/users/@me", `{"password":hunter2}`),
		api("PATCH", "/api/users/@me", `"hunter2"`),
		api("GET", "/api/users/hunter2", ""),
		api("GET", "/api/personal_api_keys/hunter2", ""),
		api("GET", "/api/hunter2", ""),
		api("POST", "/api/users/@me/validate_2fa", `{"token":"hunter2"}`),
		api("POST", "/api/users/verify_email", `{"uuid":"`+ada+`","token":"hunter2"}`),
		api("DELETE", "/api/users/@me", "", "X-2FA-Token", "hunter2"),
	} {
		for _, h := range []http.Handler{a, failing} {
			if body := bodyText(t, c.do(h)); strings.Contains(body, secret) {
				t.Errorf("%s %s: %s", c.method, c.target, body)
			}
		}
	}
	if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "store is down") {
		t.Errorf("log: %s", log.String())
	}
	if got := scrape(t, a); strings.Contains(got, secret) || strings.Contains(got, "@me") {
		t.Error("metrics have more than patterns")
	}
}

// TestAPIFailures: failures are logged with the id that the client has.
func TestAPIFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		status int
		logged bool
	}{
		{"failure", errors.New("connection refused"), 500, true},
		{"wrapped", fmt.Errorf("find key: %w", errors.New("x")), 500, true},
		{"timeout", fmt.Errorf("find key: %w", context.DeadlineExceeded), 503, true},
		{"canceled", context.Canceled, 408, false},
		{"a store's own error", management.ErrConflict, 500, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			a := newAPI(t, apiSetup{
				management: func(c *management.Config) { c.Store = brokenStore{c.Store.(sqlstore.Storage), tt.err} },
				server:     func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) },
			})
			resp := api("GET", "/api/users/@me/", "").do(a)
			if body := bodyText(t, resp); resp.StatusCode != tt.status || strings.Contains(body, "refused") {
				t.Errorf("%d %s, want %d", resp.StatusCode, body, tt.status)
			}
			if got := strings.Contains(log.String(), requestID) && strings.Contains(log.String(), "/api/users/{user}"); got != tt.logged {
				t.Errorf("log: %s", log.String())
			}
			if (resp.Header.Get("Retry-After") != "") != (tt.status == 503) {
				t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
			}
		})
	}
}
