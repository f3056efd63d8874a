package management_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// run runs the Service until stop is called, which waits for its end.
func (w *world) run() (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		w.t.Helper()
		cancel()
		w.ok(<-ended)
	}
}

// Each message, as its reader gets it (management.md §6.6).
func TestMailTexts(t *testing.T) {
	w := newWorld(t, func(c *management.Config) { c.AppName, c.VerifyByCode = "Acme Flags", true })
	ctx, p := t.Context(), w.as(w.ada)
	must(w.patch(p, "@me", `{"email":"okafor@example.com"}`))(t)
	waiting := w.mails()
	w.ok(w.verify(w.ada, "token", tokenIn(t, waiting[0])))
	p = w.as(w.ada)
	must(w.patch(p, "@me", passwords(staple, goodPassword)))(t)
	secret := w.enrol(w.ada)
	codes := must(w.NewBackupCodes(ctx, p, "@me"))(t)
	must(w.VerifySecondFactor(ctx, w.ada.UUID, codes[0]))(t)
	w.ok(w.DisableTwoFactor(ctx, p, "@me"))
	key := must(w.newKey(p, `{"label":"ci","scopes":["*"]}`))(t)
	rolled := must(w.RollKey(ctx, p, key.ID))(t)
	w.ok(w.DeleteKey(ctx, p, key.ID))
	must(w.patch(w.as(w.sam), w.ada.UUID.String(), `{"is_staff":true}`))(t)
	_, err := w.addMember(w.ada, `{"email":"fay@example.com"}`) // she is staff now
	w.ok(err)
	must(w.Invite(ctx, w.as(w.ben), w.acme.ID.String(), management.InvitationPatch{Email: optional.Of("gus@example.com"), FirstName: optional.Of("Gus")}))(t)
	code := codeIn(waiting[0])
	waiting = append(waiting, w.mails()...)

	var all strings.Builder
	seen := make(map[string]bool)
	for _, m := range waiting {
		seen[m.Kind] = true
		fmt.Fprintf(&all, "---- %s\nTo: %s\nSubject: %s\n\n%s", m.Kind, m.To, m.Subject, m.Text)
		if m.Kind == "email_verification" {
			continue
		}
		for name, value := range map[string]string{
			"authenticator": secret, "code": codes[0], "key": *key.Value, "new key": *rolled.Value, "password": goodPassword,
		} {
			if strings.Contains(m.Text+m.Subject+m.HTML, value) {
				t.Errorf("the message %s has the %s", m.Kind, name)
			}
		}
	}
	for _, kind := range []string{
		"email_verification", "email_changed_old", "email_changed_new", "password_changed",
		"two_factor_on", "two_factor_off", "backup_code_used", "backup_codes_replaced",
		"personal_api_key_created", "personal_api_key_rolled", "personal_api_key_deleted", "staff_changed", "member_added", "invitation",
	} {
		if !seen[kind] {
			t.Errorf("there is no message %s", kind)
		}
	}
	got := strings.NewReplacer(
		invitationIn(t, waiting[len(waiting)-1]), "TOKEN",
		w.ada.UUID.String(), "UUID", tokenIn(t, waiting[0]), "TOKEN", code, "CODE", key.Mask, "OLD MASK", rolled.Mask, "NEW MASK",
	).Replace(all.String())
	path := filepath.Join("testdata", "golden", "mails.txt")
	if *update {
		w.ok(os.MkdirAll(filepath.Dir(path), 0o755))
		w.ok(os.WriteFile(path, []byte(got), 0o644))
	}
	if diff := cmp.Diff(string(must(os.ReadFile(path))(t)), got); diff != "" {
		t.Errorf("messages (-want +got); go test -update rewrites them\n%s", diff)
	}
}

// Run sends what comes, also if it came before, and what users ask for later.
func TestRunDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		must(w.newKey(w.as(w.ada), `{"label":"before","scopes":["*"]}`))(t)
		stop := w.run()
		synctest.Wait()
		if got := kindsOf(w.outbox.take()); len(got) != 1 {
			t.Errorf("messages %v, want that of before", got)
		}
		must(w.newKey(w.as(w.ada), `{"label":"after","scopes":["*"]}`))(t)
		w.ok(w.request(w.ben.UUID.String()))
		synctest.Wait()
		got := kindsOf(w.outbox.take())
		slices.Sort(got)
		if diff := cmp.Diff([]string{"email_verification to ben@example.com", "personal_api_key_created to ada@example.com"}, got); diff != "" {
			t.Errorf("messages (-want +got)\n%s", diff)
		}
		stop()
	})
}

// A message is tried four times, after 2, 4 and 8 seconds. The log says what was
// lost, but not to whom or what was in it.
func TestMailIsRetried(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failures int
		sent     bool
		want     []time.Duration
	}{
		{"at once", 0, true, []time.Duration{0}},
		{"the third time", 2, true, []time.Duration{0, 2 * time.Second, 6 * time.Second}},
		{"the last time", 3, true, []time.Duration{0, 2 * time.Second, 6 * time.Second, 14 * time.Second}},
		{"never", 9, false, []time.Duration{0, 2 * time.Second, 6 * time.Second, 14 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var tries []time.Duration
				start := time.Now()
				w.outbox.refuse = func(context.Context, management.Message) error {
					tries = append(tries, time.Since(start))
					if len(tries) <= tt.failures {
						return errors.New("the server is busy")
					}
					return nil
				}
				stop := w.run()
				must(w.patch(w.as(w.ada), "@me", `{"email":"new@example.com"}`))(t)
				time.Sleep(time.Hour)
				synctest.Wait()
				if diff := cmp.Diff(tt.want, tries); diff != "" {
					t.Errorf("tries (-want +got)\n%s", diff)
				}
				if sent := len(w.outbox.take()) == 1; sent != tt.sent {
					t.Errorf("sent: %t, want %t", sent, tt.sent)
				}
				log := w.log.String()
				if failed := strings.Contains(log, `msg="mail is not sent" kind=email_verification tries=4 error="the server is busy"`); failed == tt.sent {
					t.Errorf("log %s", log)
				}
				if strings.Contains(log, "@example.com") || strings.Contains(log, "verify_email/") {
					t.Errorf("log %s", log)
				}
				stop()
			})
		})
	}
}

// A mailer that hangs or panics costs one message its tries, and nothing else.
func TestMailerMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var mu sync.Mutex
		tries := make(map[string]int)
		w.outbox.refuse = func(ctx context.Context, m management.Message) error {
			mu.Lock()
			tries[m.To]++
			mu.Unlock()
			switch m.To {
			case "ada@example.com":
				panic("secret " + m.Text)
			case "ben@example.com":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		stop := w.run()
		for _, u := range []*storage.User{w.ada, w.ben, w.cyd} {
			must(w.newKey(w.as(u), `{"label":"x","scopes":["*"]}`))(t)
			synctest.Wait()
		}
		if got := kindsOf(w.outbox.take()); !cmp.Equal(got, []string{"personal_api_key_created to cyd@example.com"}) {
			t.Errorf("messages %v, want that to Cyd", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{"ada@example.com": 4, "ben@example.com": 4, "cyd@example.com": 1}, tries); diff != "" {
			t.Errorf("tries (-want +got)\n%s", diff)
		}
		log := w.log.String()
		if !strings.Contains(log, "mailer panicked: string") || strings.Contains(log, "secret") || !strings.Contains(log, "deadline exceeded") {
			t.Errorf("log %s", log)
		}
		stop()
	})
}

// At its end Run sends what waits, what is being sent, and what waits for another
// try, once each, and returns.
func TestRunDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.outbox.refuse = func(ctx context.Context, m management.Message) error {
			if m.To == "ada@example.com" {
				return errors.New("not now") // waits for another try
			}
			<-ctx.Done() // is being sent
			return ctx.Err()
		}
		stop := w.run()
		for _, u := range []*storage.User{w.ada, w.ben, w.cyd, w.dov, w.sam, w.eve} {
			must(w.newKey(w.as(u), `{"label":"x","scopes":["*"]}`))(t)
		}
		w.ok(w.request(w.ben.UUID.String()))
		synctest.Wait()
		w.outbox.refuse = nil
		before := time.Now()
		stop()
		if d := time.Since(before); d != 0 {
			t.Errorf("Run takes %s to end, want no time", d)
		}
		got := kindsOf(w.outbox.take())
		slices.Sort(got)
		want := []string{
			"email_verification to ben@example.com", "personal_api_key_created to ada@example.com", "personal_api_key_created to ben@example.com",
			"personal_api_key_created to cyd@example.com", "personal_api_key_created to dov@example.com", "personal_api_key_created to eve@example.com",
			"personal_api_key_created to sam@example.com",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages (-want +got)\n%s", diff)
		}
		if log := w.log.String(); log != "" {
			t.Errorf("log %s", log)
		}
	})
}

// A user who was being looked up when Run was told to end gets their message.
func TestRunEndsDuringVerification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looked atomic.Int32
		w := newWorld(t, alter(&altered{user: func(s storage.Store, ctx context.Context, where ...storage.Where[storage.User]) (*storage.User, error) {
			if looked.Add(1) == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return s.Users().Get(ctx, where...)
		}}))
		stop := w.run()
		synctest.Wait() // what Run begins with reads, and a store in memory lets nobody read during a transaction
		w.ok(w.request(w.ada.UUID.String()))
		synctest.Wait()
		stop()
		if got := kindsOf(w.outbox.take()); !cmp.Equal(got, []string{"email_verification to ada@example.com"}) {
			t.Errorf("messages %v, want one to Ada", got)
		}
		if log := w.log.String(); log != "" {
			t.Errorf("log %s", log)
		}
	})
}

// What does not want to be sent keeps Run from its end for ten seconds, whatever
// there is.
func TestRunEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.outbox.refuse = func(ctx context.Context, _ management.Message) error {
			<-ctx.Done()
			return ctx.Err()
		}
		stop := w.run()
		for range 10 {
			must(w.newKey(w.as(w.ada), `{"label":"x","scopes":["*"]}`))(t)
			w.ok(w.request(w.ben.UUID.String()))
			w.clock.advance(24 * time.Hour)
		}
		before := time.Now()
		stop()
		if d := time.Since(before); d != 10*time.Second {
			t.Errorf("Run takes %s to end, want 10s", d)
		}
		if log := w.log.String(); !strings.Contains(log, "mail is not sent before the end") || strings.Contains(log, "@example.com") {
			t.Errorf("log %s", log)
		}
	})
}

// Mail beyond what can wait is dropped, with a line in the log, and nobody waits
// for it.
func TestMailOverflows(t *testing.T) {
	w := newWorld(t)
	p := w.as(w.sam)
	for i := range 1001 {
		must(w.UpdateUser(t.Context(), p, w.ada.UUID.String(), management.UserPatch{IsStaff: optional.Of(i%2 == 0)}))(t)
	}
	for range 1001 {
		w.ok(w.request(uuid.NewString()))
	}
	log := w.log.String()
	if strings.Count(log, "mail is dropped") != 2 || !strings.Contains(log, "kind=staff_changed") || !strings.Contains(log, "kind=email_verification") {
		t.Errorf("log %s", log)
	}
	if n := len(w.mails()); n != 1000 {
		t.Errorf("%d messages, want 1000", n)
	}
}

// A store that fails while Run looks for users is logged, and Run goes on.
func TestVerificationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		w := newWorld(t, alter(&altered{user: func(s storage.Store, ctx context.Context, where ...storage.Where[storage.User]) (*storage.User, error) {
			if fails.Load() {
				return nil, errBroken
			}
			return s.Users().Get(ctx, where...)
		}}))
		stop := w.run()
		fails.Store(true)
		w.ok(w.request(w.ada.UUID.String()))
		synctest.Wait()
		if log := w.log.String(); !strings.Contains(log, `msg="mail is not sent" kind=email_verification error=broken`) {
			t.Errorf("log %s", log)
		}
		fails.Store(false)
		w.ok(w.request(w.ada.UUID.String()))
		synctest.Wait()
		if n := len(w.outbox.take()); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
		stop()
	})
}

// Without a Mailer Run does the rest of its work.
func TestRunWithoutMailer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *management.Config) { c.Mailer = nil })
		stop := w.run()
		must(w.newKey(w.as(w.ada), `{"label":"x","scopes":["*"]}`))(t)
		time.Sleep(time.Hour)
		stop()
	})
}

// Run deletes what projects leave behind: each minute, until there is no more, and
// also after a failure.
func TestRunPurges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &purger{answers: []error{nil, nil, errBroken, nil}, more: 1}
		w := newWorld(t, withData, func(c *management.Config) { p.Data, c.Data = c.Data, p })
		start := time.Now()
		stop := w.run()
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		var calls []time.Duration
		for _, at := range p.calls {
			calls = append(calls, at.Sub(start))
		}
		want := []time.Duration{0, 0, time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute, 5 * time.Minute}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("PurgeProjects is called (-want +got)\n%s", diff)
		}
		if before := begin.Add(-time.Minute); !p.before.Equal(before) { // by the clock of the Service
			t.Errorf("PurgeProjects before %s, want %s", p.before, before)
		}
		if log := w.log.String(); strings.Count(log, "what deleted projects leave behind is not deleted") != 1 {
			t.Errorf("log %s", log)
		}
		stop()
	})
}

// A purger is a Data that answers PurgeProjects.
type purger struct {
	storage.Data
	answers []error // then nil
	more    int     // how often there is more
	calls   []time.Time
	before  time.Time
}

func (p *purger) PurgeProjects(_ context.Context, before time.Time) (bool, error) {
	p.calls, p.before = append(p.calls, time.Now()), before
	if n := len(p.calls); n <= len(p.answers) && p.answers[n-1] != nil {
		return false, p.answers[n-1]
	}
	return len(p.calls) <= p.more, nil
}
