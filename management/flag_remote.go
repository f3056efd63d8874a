package management

import (
	"context"
	"errors"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// RemoteConfig returns the payload of a remote configuration flag, which a path
// names by its ID or key, for a caller that may read definitions (wire.md §5.4): the text of
// JSON. Encrypted payloads are opened for personal API keys. The error is
// ErrNotFound if there is no such flag, or no payload.
func (s *Service) RemoteConfig(ctx context.Context, access *DefinitionsAccess, flag string) (string, error) {
	f, err := s.c.Store.Flags().Get(ctx, storage.FlagProject.Is(access.Project.ID), storage.FlagKey.Is(flag), storage.FlagDeleted.Is(false))
	if id, e := strconv.ParseInt(flag, 10, 64); errors.Is(err, ErrNotFound) && e == nil {
		f, err = s.c.Store.Flags().Get(ctx, storage.FlagProject.Is(access.Project.ID), storage.FlagID.Is(id))
	}
	if err != nil {
		return "", storeError(err)
	}
	if !f.Deleted && judge.IsRuleSet(&f.Filters) {
		return "", notFound("The flag has a rule set and no payload: POST /flags has its value.")
	}
	if f.Deleted || !f.RemoteConfig {
		return "", plainNotFound
	}
	payload, ok := f.Filters.Payload("true")
	if !ok {
		return "", plainNotFound
	}
	if !f.EncryptedPayloads {
		return payload, nil
	}
	if access.Principal == nil {
		return redaction, nil
	}
	plain, ok := s.openPayload(f, payload)
	if !ok {
		s.c.Log.ErrorContext(ctx, "an encrypted payload cannot be opened: its secret key is missing", "project", f.Project, "flag", f.ID)
		return "", plainNotFound
	}
	return plain, nil
}
