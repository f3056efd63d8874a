package management

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A FlagVersion is one version in the history of a flag (management.md §13.17).
type FlagVersion struct {
	Version    int       `json:"version"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  *Author   `json:"created_by"`  // nil: the system, or a user that is gone
	RevertedTo *int      `json:"reverted_to"` // the older version whose content it has again
	Comment    string    `json:"comment"`     // what the author has said about it

	// Summary says in words what the version has changed.
	Summary string `json:"summary"`

	// Changes are the differences to the version before. They are nil for a version
	// of which that is not known: nothing of the flag was kept before. At most
	// maxFlagChanges are there; MoreChanges is how many are left out.
	Changes     []FlagChange `json:"changes"`
	MoreChanges int          `json:"more_changes"`
}

// FlagVersions returns a page of the versions of a flag, newest first. Of payloads that
// are secret, in either version or now, it tells only that they have changed. It needs
// scope feature_flag:read.
func (s *Service) FlagVersions(ctx context.Context, p *Principal, ref, flag string, limit, offset int) (*Page[*FlagVersion], error) {
	w, f, err := s.readFlag(ctx, p, ref, flag)
	if err != nil {
		return nil, err
	}
	page := &Page[*FlagVersion]{Items: []*FlagVersion{}}
	var authors []*int64
	const atOnce = 50 // versions with their filters in memory
	for {
		part := max(0, min(limit-len(page.Items), atOnce))
		list, total, err := w.store.FlagVersions().Page(ctx, part+1, offset+len(page.Items), storage.FlagProject.Is(f.Project), storage.VersionOf.Is(f.ID)) // with the one before the last
		if err != nil {
			return nil, err
		}
		page.Total = total
		for i := range list[:min(part, len(list))] {
			var before *storage.Flag
			if i+1 < len(list) {
				before = &list[i+1]
			}
			page.Items = append(page.Items, w.flagVersion(f, before, &list[i]))
			authors = append(authors, list[i].ModifiedBy)
		}
		if len(list) <= part || len(page.Items) >= limit {
			break
		}
	}
	users, err := w.authors(ctx, authors...)
	if err != nil {
		return nil, err
	}
	for i, v := range page.Items {
		v.CreatedBy = basicUser(users, authors[i])
	}
	return page, nil
}

// flagVersion returns a version of a flag, of which nil or another version was there
// before.
func (w *work) flagVersion(f, before, version *storage.Flag) *FlagVersion {
	v := &FlagVersion{Version: version.Version, CreatedAt: version.Updated, RevertedTo: version.RevertedTo, Comment: version.Comment}
	if before != nil {
		secret := f.EncryptedPayloads || before.EncryptedPayloads || version.EncryptedPayloads
		v.Changes, v.MoreChanges = detailed(w.flagChanges(before, version, secret))
	}
	v.Summary = v.summary()
	return v
}

// FlagVersion returns a flag as it was in one of its versions: every field of it, and its
// filters as they were sent then. UpdatedAt and LastModifiedBy are the time and the
// author of the version; what is linked to the flag now is left out. A caller that may not
// read the payloads of the flag reads them in none of its versions. It needs scope
// feature_flag:read.
func (s *Service) FlagVersion(ctx context.Context, p *Principal, ref, flag string, version int) (*FlagView, error) {
	w, f, err := s.readFlag(ctx, p, ref, flag)
	if err != nil {
		return nil, err
	}
	was, err := w.versionOf(ctx, f, version)
	if err != nil {
		return nil, storeError(err)
	}
	related, err := w.flagRelations(ctx, []storage.Flag{*was})
	if err != nil {
		return nil, err
	}
	related.surveys, related.features = nil, nil
	related.states = stateJudge{now: was.Updated}
	return w.flagView(was, f.EncryptedPayloads || was.EncryptedPayloads, related), nil
}

// versionOf returns a flag as it was, with what is the same in all its versions.
func (w *work) versionOf(ctx context.Context, f *storage.Flag, version int) (*storage.Flag, error) {
	was, err := w.store.FlagVersions().Get(ctx, storage.FlagProject.Is(f.Project), storage.VersionOf.Is(f.ID), storage.FlagVersion.Is(version))
	if err != nil {
		return nil, err
	}
	was.CreatedBy, was.Created = f.CreatedBy, f.Created
	return was, nil
}

// A RevertPatch makes an older version of a flag again (management.md §13.18).
type RevertPatch struct {
	Version optional.Value[int] `json:"version"` // required

	// CurrentVersion is the version that the flag shall have before: another one is
	// ErrConflict. IfVersion is the same, but another one is ErrPrecondition.
	CurrentVersion optional.Value[int] `json:"current_version"`
	IfVersion      *int                `json:"-"`
}

func (patch *RevertPatch) validate() error {
	switch {
	case !patch.Version.Set:
		return invalid("version", "required", "This field is required.")
	case patch.Version.Null:
		return invalid("version", "null", "This field may not be null.")
	}
	if err := check.Integer("version", &patch.Version); err != nil {
		return judgeError(err)
	}
	return judgeError(check.Integer("current_version", &patch.CurrentVersion))
}

// RevertFlag gives a flag the content of one of its versions again, as a new version. The
// content is judged as a change by [Service.UpdateFlag] is: what it refers to may have
// gone. A flag that has the content already stays as it is. Encrypted payloads come back
// as they are stored. The flag stays open for enrolment as its early access feature, if
// it has one, wants it now. It needs scope feature_flag:write.
func (s *Service) RevertFlag(ctx context.Context, p *Principal, ref, flag string, patch RevertPatch) (*FlagView, error) {
	return s.changeFlag(ctx, p, ref, flag, func(w *work, set *definitionSet, f *storage.Flag) error {
		return w.revertFlag(ctx, set, f, &patch)
	})
}

func (w *work) revertFlag(ctx context.Context, set *definitionSet, f *storage.Flag, patch *RevertPatch) error {
	if err := patch.validate(); err != nil {
		return err
	}
	if err := checkPrecondition(f, patch.IfVersion); err != nil {
		return err
	}
	if err := checkCurrent(f, &patch.CurrentVersion); err != nil {
		return err
	}
	before := *f
	if err := w.takeBack(ctx, set, f, "version", patch.Version.Value); err != nil {
		return err
	}
	return w.saveAs(ctx, &before, f, versionNote{revertedTo: &patch.Version.Value})
}

// takeBack gives a flag, which the caller stores, the content of an older version. An error
// about the version itself has an attribute.
func (w *work) takeBack(ctx context.Context, set *definitionSet, f *storage.Flag, attr string, version int) error {
	was, err := w.versionOf(ctx, f, version)
	if err != nil {
		return goneError(err, invalid(attr, "does_not_exist", "The flag has no version %d to go back to; it has version %d now.", version, f.Version))
	}
	before := *f
	was.Version, was.LastCalled = f.Version, f.LastCalled
	*f = *was
	return w.judgeRevert(ctx, set.references(), &before, f)
}

// judgeRevert returns an error if a flag may not have the content of an older version,
// which it has already taken over. What the content refers to is brought into the form in
// which it is stored now.
func (w *work) judgeRevert(ctx context.Context, refs *judge.References, before, f *storage.Flag) error {
	if before.EncryptedPayloads && !f.EncryptedPayloads && len(f.Filters.Payloads) > 0 {
		return invalid("version", "invalid_input", "Encrypted payloads do not become readable, and the payloads of that version are not encrypted: send the flag with others instead.")
	}
	if f.EncryptedPayloads && w.box == nil {
		return errNoSecretKey
	}
	if err := checkFlag(before, f, true, refs); err != nil {
		return err
	}
	if err := w.followFeature(ctx, f); err != nil {
		return err
	}
	filters := w.openPayloads(f)
	for _, key := range slices.Sorted(maps.Keys(f.Filters.Payloads)) {
		if text, _ := filters.Payload(key); f.EncryptedPayloads && text == redaction {
			return invalid("version", "invalid_input", "The payload %q of that version cannot be read any more: its secret key is missing.", check.Excerpt(key))
		}
	}
	filters = filters.Clone()
	if err := sameLanguage(&before.Filters, &filters); err != nil {
		return err
	}
	subject := judge.Subject{ID: f.ID, Key: f.Key, RemoteConfig: f.RemoteConfig, Stored: f.Filters.RuleSet, Sent: true}
	if err := judge.Judge(&filters, subject, refs); err != nil {
		return filtersError(&filters, err)
	}
	filters.Payloads = f.Filters.Payloads
	f.Filters = filters
	if f.Deleted && !before.Deleted {
		return w.checkUnused(ctx, before, refs)
	}
	return nil
}

// followFeature opens a flag for enrolment, or closes it, as its early access feature
// wants. A flag without one stays as it is.
func (w *work) followFeature(ctx context.Context, f *storage.Flag) error {
	features, err := w.store.EarlyAccess().List(ctx, storage.FeatureProject.Is(f.Project))
	if err != nil {
		return err
	}
	n := slices.IndexFunc(features, func(e storage.EarlyAccessFeature) bool { return e.Flag == f.ID })
	if n < 0 {
		return nil
	}
	follow(f, isReleased(&features[n]))
	return nil
}

// follow opens a flag for enrolment, or closes it.
func follow(f *storage.Flag, on bool) {
	if mark := f.Filters.FeatureEnrollment; on != (mark != nil && *mark) {
		f.Filters = withEnrollment(f.Filters, on)
	}
}
