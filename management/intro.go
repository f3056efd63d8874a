package management

import (
	"context"
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// NoteIntro keeps what the caller has seen of an introduction, a member of
// has_seen_product_intro_for (management.md §4.3). It is nobody else's business, so that the
// activity log has no entry of it. It needs scope user:write.
func (s *Service) NoteIntro(ctx context.Context, p *Principal, name string, seen json.RawMessage) error {
	if err := p.changesUsers(); err != nil {
		return err
	}
	return s.atomic(ctx, p, func(w *work) error {
		u, err := w.userByRef(ctx, "@me")
		if err != nil {
			return err
		}
		all := make(map[string]json.RawMessage)
		_ = json.Unmarshal(u.SeenProductIntroFor, &all) // what is not an object has no members
		if all == nil {
			all = make(map[string]json.RawMessage)
		}
		all[name] = seen
		if u.SeenProductIntroFor, err = json.Marshal(all); err != nil {
			return err
		}
		return storeError(w.store.Users().Update(ctx, u))
	})
}

// FlagsMade returns how many flags the caller has made, in all projects, also those that were
// deleted. It needs scope user:read.
func (s *Service) FlagsMade(ctx context.Context, p *Principal) (int, error) {
	if err := p.Require("user:read"); err != nil {
		return 0, err
	}
	_, n, err := s.c.Store.Flags().Page(ctx, 0, 0, storage.FlagAuthor.Is(p.User.ID), storage.FlagInternal.Is(storage.FlagOrdinary))
	return n, err
}
