package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A town is what the tests of transactions change: two organizations with a
// project and a user each, who has everything.
type town struct {
	s           *suite
	here, there *storage.Organization
	p, q        *storage.Project
	ann, bob    *storage.User
	before      world
	inside      uuid.UUID // ID of what is new
}

func newTown(t *testing.T, s *suite) *town {
	t.Helper()
	c := &town{s: s, here: s.organization(t, "here"), there: s.organization(t, "there"), inside: uuid.New()}
	c.p, c.q = s.project(t, c.here), s.project(t, c.there)
	c.ann, c.bob = s.user(t, "ann"), s.user(t, "bob")
	s.furnish(t, c.ann, c.here, c.p)
	s.furnish(t, c.bob, c.there, c.q)
	c.before = c.overview(t, s)
	return c
}

func (c *town) overview(t *testing.T, store storage.Store) world {
	t.Helper()
	w, err := overview(t.Context(), store, c.ann.ID, c.bob.ID)
	must(t, err)
	return w
}

// overturn changes, adds and deletes something of every kind.
func (c *town) overturn(ctx context.Context, store storage.Store) error {
	var all error
	do := func(err error) { all = errors.Join(all, err) }
	now := c.s.now.Add(time.Hour)
	ann, here, p := *c.ann, *c.here, *c.p
	ann.FirstName, ann.CurrentOrganization, ann.CurrentProject = "Ann", &c.there.ID, &c.q.ID
	do(store.Users().Update(ctx, &ann))
	here.Name, here.AvailableFeatures = "Here", json.RawMessage("[1]")
	do(store.Organizations().Update(ctx, &here))
	p.Name = "P"
	do(store.Projects().Update(ctx, &p))
	do(store.Memberships().Update(ctx, &storage.Membership{
		ID: c.before.Memberships[0].ID, Organization: c.here.ID, User: c.ann.ID, Level: storage.LevelOwner, Joined: now, Updated: now,
	}))
	do(store.Memberships().Create(ctx, &storage.Membership{ID: c.inside, Organization: c.there.ID, User: c.ann.ID, Level: 1, Joined: now, Updated: now}))
	do(store.Invitations().Create(ctx, &storage.Invitation{
		ID: c.inside, Organization: c.there.ID, Email: "inside@example.com", Hash: []byte("inside"), CreatedBy: c.ann.ID, Created: now, Expires: now,
	}))
	do(store.Organizations().Create(ctx, &storage.Organization{ID: c.inside, Slug: "inside", Created: now, Updated: now}))
	do(store.Projects().Create(ctx, &storage.Project{UUID: c.inside, Organization: c.inside, APIKey: "phc_inside", Created: now, Updated: now}))
	do(store.Users().Create(ctx, &storage.User{UUID: c.inside, DistinctID: "inside", Email: "inside@example.com", Joined: now}))
	do(store.Keys().Update(ctx, &storage.PersonalKey{ID: c.ann.Email, User: c.ann.ID, Hash: "another", Created: now}))
	do(store.Keys().Touch(ctx, &storage.PersonalKey{ID: c.ann.Email, LastUsed: new(now)}))
	do(store.Keys().Create(ctx, &storage.PersonalKey{ID: "inside", User: c.ann.ID, Hash: "inside", Created: c.s.now}))
	do(store.TOTPs().Set(ctx, &storage.TOTP{User: c.ann.ID, Secret: []byte("inside"), Created: now}))
	do(store.PendingTOTPs().Delete(ctx, storage.PendingTOTPUser.Is(c.ann.ID)))
	do(store.EmailTokens().Set(ctx, &storage.EmailToken{User: c.ann.ID, Hash: []byte("inside"), Target: "x", Created: now, Expires: now}))
	if used, err := store.BackupCodes().DeleteAll(ctx, storage.BackupCodeUser.Is(c.ann.ID), storage.BackupCodeHash.Is([]byte("1"))); used != 1 {
		do(fmt.Errorf("no backup code: %w", err))
	}
	do(store.Scenes().Set(ctx, &storage.Scene{User: c.ann.ID, Project: c.p.ID, Scene: "Person", Dashboard: 2}))
	do(store.Scenes().Set(ctx, &storage.Scene{User: c.ann.ID, Project: c.q.ID, Scene: "Group", Dashboard: 3}))
	do(store.AddActivity(ctx, &storage.Activity{ID: c.inside, User: &c.bob.ID, Activity: "updated", Created: now}))
	flag, cohort, feature := c.before.Flags[0], c.before.Cohorts[0], c.before.EarlyAccess[0]
	flag.Archived, cohort.Static, feature.Stage = true, true, "beta"
	do(store.Flags().Update(ctx, &flag))
	do(store.Cohorts().Update(ctx, &cohort))
	do(store.EarlyAccess().Update(ctx, &feature))
	fresh := storage.Flag{Project: c.p.ID, Key: "inside", Created: now, Updated: now}
	do(store.Flags().Create(ctx, &fresh))
	do(store.Cohorts().Create(ctx, &storage.Cohort{Project: c.p.ID, Created: now}))
	do(store.EarlyAccess().Create(ctx, &storage.EarlyAccessFeature{ID: c.inside, Project: c.p.ID, Flag: fresh.ID, Created: now}))
	do(store.Flags().Delete(ctx, storage.FlagProject.Is(c.q.ID), storage.FlagID.Is(c.before.Flags[1].ID)))
	do(store.Users().Delete(ctx, storage.UserID.Is(c.bob.ID)))
	return all
}

func testAtomic(t *testing.T, s *suite) {
	ctx := t.Context()
	c := newTown(t, s)
	other := s.another(t)
	var inside world
	err := s.Atomic(ctx, func(store storage.Store) error {
		if err := c.overturn(ctx, store); err != nil {
			return err
		}
		var err error
		inside, err = overview(ctx, store, c.ann.ID, c.bob.ID)
		return err
	})
	must(t, err)
	if len(inside.Users) != 1 || inside.Users[0].FirstName != "Ann" || len(inside.Organizations) != 3 || len(inside.Activities) != 3 ||
		len(inside.Flags) != 2 || len(inside.Cohorts) != 3 || len(inside.EarlyAccess) != 2 || inside.ActiveUsers != 1 {
		t.Errorf("the transaction saw of itself\n%+v", inside)
	}
	for _, store := range []sqlstore.Storage{s.Storage, other, s.another(t)} {
		want(t, "what the transaction saw", inside)(c.overview(t, store), nil)
	}

	// A transaction within one is the same.
	create := func(store storage.Store, slug string) error {
		return store.Organizations().Create(ctx, &storage.Organization{ID: uuid.New(), Slug: slug, Created: s.now, Updated: s.now})
	}
	err = s.Atomic(ctx, func(store storage.Store) error {
		if err := create(store, "outer"); err != nil {
			return err
		}
		err := store.Atomic(ctx, func(inner storage.Store) error {
			if err := create(inner, "inner"); err != nil {
				return err
			}
			wantError(t, "Organizations.Create of the outer transaction", storage.ErrConflict, create(inner, "outer"))
			return inner.Atomic(ctx, func(innermost storage.Store) error { return create(innermost, "innermost") })
		})
		if err != nil {
			return err
		}
		return create(store, "last")
	})
	must(t, err)
	for _, slug := range []string{"outer", "inner", "innermost", "last"} {
		wantError(t, "Organizations.Create of "+slug, storage.ErrConflict, create(s, slug))
	}
}

var errStop = errors.New("stop")

func testAtomicFails(t *testing.T, s *suite) {
	ctx := t.Context()
	c := newTown(t, s)
	// catch returns what f panics with.
	catch := func(f func()) (reason any) {
		defer func() { reason = recover() }()
		f()
		return nil
	}
	for _, tt := range []struct {
		name string
		run  func() error
	}{
		{"an error", func() error {
			return s.Atomic(ctx, func(store storage.Store) error {
				return errors.Join(c.overturn(ctx, store), errStop)
			})
		}},
		{"an error of the store", func() error {
			err := s.Atomic(ctx, func(store storage.Store) error {
				if err := c.overturn(ctx, store); err != nil {
					return err
				}
				return store.Users().Delete(ctx, storage.UserID.Is(c.bob.ID))
			})
			wantError(t, "Atomic", storage.ErrNotFound, err)
			return errStop
		}},
		{"a panic", func() error {
			reason := catch(func() {
				err := s.Atomic(ctx, func(store storage.Store) error {
					if err := c.overturn(ctx, store); err != nil {
						return err
					}
					panic(errStop)
				})
				t.Errorf("Atomic returns %v, although its function panics", err)
			})
			err, _ := reason.(error)
			return err
		}},
		{"an error after a transaction within", func() error {
			return s.Atomic(ctx, func(store storage.Store) error {
				err := store.Atomic(ctx, func(inner storage.Store) error { return c.overturn(ctx, inner) })
				return errors.Join(err, errStop)
			})
		}},
		{"an error of a transaction within", func() error {
			return s.Atomic(ctx, func(store storage.Store) error {
				if err := c.overturn(ctx, store); err != nil {
					return err
				}
				return store.Atomic(ctx, func(storage.Store) error { return errStop })
			})
		}},
		{"a panic of a transaction within", func() error {
			reason := catch(func() {
				_ = s.Atomic(ctx, func(store storage.Store) error {
					return store.Atomic(ctx, func(inner storage.Store) error {
						if err := c.overturn(ctx, inner); err != nil {
							return err
						}
						panic(errStop)
					})
				})
			})
			err, _ := reason.(error)
			return err
		}},
	} {
		wantError(t, tt.name, errStop, tt.run())
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "what was there before "+tt.name, c.before)(c.overview(t, store), nil)
		}
		wantErr(t, "a user of "+tt.name, storage.ErrNotFound)(s.Users().Get(ctx, storage.UserEmail.Is("inside@example.com")))
		wantErr(t, "a project of "+tt.name, storage.ErrNotFound)(s.Projects().Get(ctx, storage.ProjectKey.Is("phc_inside")))
	}
	// It would have worked, and does after all that.
	must(t, s.Atomic(ctx, func(store storage.Store) error { return c.overturn(ctx, store) }))
	if w := c.overview(t, s.another(t)); cmp.Equal(w, c.before, same) {
		t.Error("a transaction has no effect")
	}
}

// testAtomicGoesOn lets calls fail within a transaction: they change nothing, and
// the transaction goes on.
func testAtomicGoesOn(t *testing.T, s *suite) {
	ctx := t.Context()
	c := newTown(t, s)
	err := s.Atomic(ctx, func(store storage.Store) error {
		taken := s.newUser("x")
		taken.Email = c.ann.Email
		renamed, moved, key := *c.bob, *c.q, c.before.Keys[c.ann.ID][0]
		renamed.Email = c.ann.Email
		moved.APIKey = c.p.APIKey
		flag, feature := c.before.Flags[0], c.before.EarlyAccess[0]
		flag.ModifiedBy, feature.Flag = new(int64(99)), 99
		key.Hash = c.before.Keys[c.bob.ID][0].Hash
		for _, tt := range []struct {
			call string
			err  error
			want error
		}{
			{"Users.Create", store.Users().Create(ctx, &taken), storage.ErrConflict},
			{"Users.Update", store.Users().Update(ctx, &renamed), storage.ErrConflict},
			{"Projects.Update", store.Projects().Update(ctx, &moved), storage.ErrConflict},
			{"Keys.Update", store.Keys().Update(ctx, &key), storage.ErrConflict},
			{"Organizations.Create", store.Organizations().Create(ctx, c.here), storage.ErrConflict},
			{"Memberships.Create", store.Memberships().Create(ctx, &c.before.Memberships[0]), storage.ErrConflict},
			{"TOTPs.Set", store.TOTPs().Set(ctx, &storage.TOTP{User: 99, Secret: binary, Created: s.now}), storage.ErrNotFound},
			{"a backup code of nobody", store.BackupCodes().Create(ctx, &storage.BackupCode{User: 99, Hash: binary, Created: s.now}), storage.ErrNotFound},
			{"Projects.Create", store.Projects().Create(ctx, storage.NewProject(&storage.Organization{ID: uuid.New()}, "x")), storage.ErrNotFound},
			{"Users.Delete", store.Users().Delete(ctx, storage.UserID.Is(99)), storage.ErrNotFound},
			{"Flags.Create", store.Flags().Create(ctx, &flag), storage.ErrConflict},
			{"Flags.Update", store.Flags().Update(ctx, &flag), storage.ErrNotFound},
			{"EarlyAccess.Update", store.EarlyAccess().Update(ctx, &feature), storage.ErrNotFound},
			{"Cohorts.Create", store.Cohorts().Create(ctx, &storage.Cohort{Project: 99, Created: s.now}), storage.ErrNotFound},
		} {
			if !errors.Is(tt.err, tt.want) {
				return fmt.Errorf("%s: error %w, want %w", tt.call, tt.err, tt.want)
			}
		}
		return store.PendingTOTPs().Delete(ctx, storage.PendingTOTPUser.Is(c.ann.ID))
	})
	must(t, err)
	c.before.PendingTOTPs[c.ann.ID] = nil
	want(t, "what was there, but one thing", c.before)(c.overview(t, s.another(t)), nil)
}

func testConcurrentAtomic(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	must(t, s.PendingTOTPs().Set(ctx, &storage.PendingTOTP{User: ann.ID, Secret: binary, Expires: s.now}))
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	const writers, times = 8, 10
	done := make(chan struct{})
	var readers, wg sync.WaitGroup
	for _, store := range stores {
		readers.Go(func() {
			for {
				users, err := store.Users().List(ctx, storage.UserID.In([]int64{ann.ID, bob.ID}))
				if err != nil || len(users) != 2 || users[0].FirstName != users[1].FirstName {
					t.Errorf("half a transaction: %+v, %v", users, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for w := range writers {
		wg.Go(func() {
			for i := range times {
				err := stores[w%2].Atomic(ctx, func(store storage.Store) error {
					p, err := store.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(ann.ID))
					if err != nil {
						return err
					}
					for _, id := range []int64{ann.ID, bob.ID} {
						u, err := store.Users().Get(ctx, storage.UserID.Is(id))
						if err != nil {
							return err
						}
						u.FirstName = fmt.Sprintf("%d %d", w, i)
						if err := store.Users().Update(ctx, u); err != nil {
							return err
						}
					}
					p.Attempts++
					return store.PendingTOTPs().Set(ctx, p)
				})
				if err != nil {
					t.Errorf("Atomic: %v", err)
				}
			}
		})
	}
	wg.Wait()
	close(done)
	readers.Wait()
	p, err := s.another(t).PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(ann.ID))
	must(t, err)
	if p.Attempts != writers*times {
		t.Errorf("%d attempts are counted, want %d", p.Attempts, writers*times)
	}
}

func testRaces(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	ann := s.user(t, "ann")
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	const runners, rounds = 8, 5
	users := make([]storage.User, runners)
	for i := range users {
		users[i] = *s.user(t, fmt.Sprint("runner ", i))
	}
	// free turns ErrConflict into defeat.
	free := func(err error) (bool, error) {
		if errors.Is(err, storage.ErrConflict) {
			return false, nil
		}
		return err == nil, err
	}
	for _, race := range []struct {
		name    string
		prepare func(round string) error
		run     func(store storage.Store, round string, i int) (won bool, err error)
	}{
		{"a new user's address", nil, func(store storage.Store, round string, _ int) (bool, error) {
			u := s.newUser("one")
			u.Email, u.DistinctID = round+"@new.example", uuid.NewString()
			return free(store.Users().Create(ctx, &u))
		}},
		{"another address", nil, func(store storage.Store, round string, i int) (bool, error) {
			u := users[i]
			u.Email = round + "@another.example"
			return free(store.Users().Update(ctx, &u))
		}},
		{"another address, in transactions", nil, func(store storage.Store, round string, i int) (bool, error) {
			return free(store.Atomic(ctx, func(store storage.Store) error {
				u, err := store.Users().Get(ctx, storage.UserID.Is(users[i].ID))
				if err != nil {
					return err
				}
				u.Email = round + "@atomic.example"
				return store.Users().Update(ctx, u)
			}))
		}},
		{"a slug", nil, func(store storage.Store, round string, _ int) (bool, error) {
			return free(store.Organizations().Create(ctx, &storage.Organization{ID: uuid.New(), Slug: round, Created: s.now, Updated: s.now}))
		}},
		{"a membership", func(string) error {
			if err := s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(o.ID), storage.MembershipUser.Is(ann.ID)); !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			return nil
		}, func(store storage.Store, _ string, _ int) (bool, error) {
			return free(store.Memberships().Create(ctx, &storage.Membership{ID: uuid.New(), Organization: o.ID, User: ann.ID, Level: 1, Joined: s.now, Updated: s.now}))
		}},
		{"an invitation", func(round string) error {
			return s.Invitations().Create(ctx, &storage.Invitation{
				ID: uuid.NewSHA1(o.ID, []byte(round)), Organization: o.ID, Email: round, Hash: []byte(round), CreatedBy: ann.ID, Created: s.now, Expires: s.now,
			})
		}, func(store storage.Store, round string, _ int) (bool, error) {
			err := store.Invitations().Delete(ctx, storage.InvitationOrganization.Is(o.ID), storage.InvitationID.Is(uuid.NewSHA1(o.ID, []byte(round))))
			if errors.Is(err, storage.ErrNotFound) {
				return false, nil
			}
			return err == nil, err
		}},
		{"a backup code", func(round string) error {
			return s.BackupCodes().Create(ctx, &storage.BackupCode{User: ann.ID, Hash: []byte(round), Created: s.now})
		}, func(store storage.Store, round string, _ int) (bool, error) {
			return one(store.BackupCodes().DeleteAll(ctx, storage.BackupCodeUser.Is(ann.ID), storage.BackupCodeHash.Is([]byte(round))))
		}},
		{"an e-mail token", func(round string) error {
			return s.EmailTokens().Set(ctx, &storage.EmailToken{User: ann.ID, Hash: []byte(round), Created: s.now, Expires: s.now})
		}, func(store storage.Store, _ string, _ int) (bool, error) {
			return one(store.EmailTokens().DeleteAll(ctx, storage.EmailTokenUser.Is(ann.ID)))
		}},
		{"an e-mail token, in transactions", func(round string) error {
			return s.EmailTokens().Set(ctx, &storage.EmailToken{User: ann.ID, Hash: []byte(round), Created: s.now, Expires: s.now})
		}, func(store storage.Store, _ string, _ int) (won bool, err error) {
			err = store.Atomic(ctx, func(store storage.Store) (err error) {
				won, err = one(store.EmailTokens().DeleteAll(ctx, storage.EmailTokenUser.Is(ann.ID)))
				return err
			})
			return won, err
		}},
	} {
		for round := range rounds {
			name := fmt.Sprint("round-", round)
			if race.prepare != nil {
				must(t, race.prepare(name))
			}
			var winners atomic.Int32
			var wg sync.WaitGroup
			start := make(chan struct{})
			for i := range runners {
				wg.Go(func() {
					<-start
					won, err := race.run(stores[i%2], name, i)
					if err != nil {
						t.Errorf("%s: %v", race.name, err)
					}
					if won {
						winners.Add(1)
					}
				})
			}
			close(start)
			wg.Wait()
			if n := winners.Load(); n != 1 {
				t.Errorf("%s: %d of %d have won, want 1", race.name, n, runners)
			}
		}
	}
}
