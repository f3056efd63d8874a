package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// usersCommand has the commands about users.
func (p *program) usersCommand() *cli.Command {
	return &cli.Command{
		Name:     "users",
		Category: tool.OfServer,
		Usage:    "invite users",
		Commands: []*cli.Command{p.inviteCommand()},
	}
}

// levels are the levels of members, by their names.
var levels = map[string]int{"member": storage.LevelMember, "admin": storage.LevelAdmin, "owner": storage.LevelOwner}

// An invited user, as -json prints it.
type invited struct {
	Email        string `json:"email"`
	Organization string `json:"organization,omitempty"`
	Level        string `json:"level,omitempty"` // "": the user is a member already
	Link         string `json:"link,omitempty"`  // with -store; a server mails it
}

// inviteCommand invites a user to an organization.
func (p *program) inviteCommand() *cli.Command {
	var asJSON bool
	var store, appURL, name string
	level := "member"
	var given tool.Connection
	return &cli.Command{
		Name:      "invite",
		Usage:     "invite the reader of an e-mail address to the organization",
		UsageText: tool.ProgramName + " users invite [-level LEVEL] [-name NAME] ADDRESS\n" + tool.ProgramName + " users invite -store STORE -app-url URL [-level LEVEL] [-name NAME] ADDRESS",
		Description: `Invite asks the server at FLAGSTAFF_URL to mail an invitation to ADDRESS, for the
organization of the user whose key is in FLAGSTAFF_KEY. With -store it needs neither a
server nor mail: it writes the invitation into the store, for the first organization, and
prints the link that accepts it, which is valid for three days. For a member of the
organization, who is locked out perhaps, it prints a link that signs in, once and within a
day. Hand links over in person.

Examples:

	flagstaff users invite ada@example.com
	flagstaff users invite -store flagstaff.db -app-url https://flags.example.com -level admin ada@example.com`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "level", Value: level, Usage: "the `LEVEL` of the new member: member, admin or owner (default member)", Destination: &level},
			&cli.StringFlag{Name: "name", Usage: "the first `NAME` to propose", Destination: &name},
			&cli.StringFlag{Name: "store", Usage: "write into `STORE`, an SQLite file or postgres://USER:PASSWORD@HOST/DATABASE, instead of asking a server", Destination: &store},
			&cli.StringFlag{Name: "app-url", Usage: "with -store, the `URL` that the link begins with (default FLAGSTAFF_APP_URL)", Destination: &appURL},
			&cli.BoolFlag{Name: "json", Usage: "print the invitation as JSON", Destination: &asJSON},
		}, given.Flags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args, err := tool.WantArgs(cmd, "ADDRESS")
			if err != nil {
				return err
			}
			rank, ok := levels[level]
			if !ok {
				return tool.BadValue("level", level, "member, admin or owner")
			}
			patch := management.InvitationPatch{Email: optional.Of(args[0]), Level: optional.Of(rank)}
			if name != "" {
				patch.FirstName = optional.Of(name)
			}
			answer := invited{Email: args[0], Level: level}
			switch {
			case store != "" && given.URL != "":
				return tool.WrongUsage("flags -store and -url exclude each other")
			case store != "":
				err = p.inviteByStore(ctx, store, appURL, patch, &answer)
			case appURL != "":
				return tool.WrongUsage("flag -app-url is for -store: a server knows its address")
			default:
				err = p.inviteByServer(ctx, &given, patch, &answer)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return p.JSON(answer)
			}
			if answer.Link == "" {
				return p.Print("invited %s as %s; the server mails the link", tool.Printable(answer.Email), level)
			}
			if answer.Level == "" {
				return p.Print("%s is a member of organization %q already; the link that signs in is good once, for a day:\n%s", tool.Printable(answer.Email), answer.Organization, answer.Link)
			}
			return p.Print("invited %s to organization %q as %s; the link that accepts is valid for three days:\n%s", tool.Printable(answer.Email), answer.Organization, level, answer.Link)
		},
	}
}

// inviteByServer asks a server.
func (p *program) inviteByServer(ctx context.Context, given *tool.Connection, patch management.InvitationPatch, answer *invited) error {
	client, err := p.Client(given)
	if err != nil {
		return err
	}
	body := map[string]any{"target_email": patch.Email.Value, "level": patch.Level.Value}
	if patch.FirstName.Set {
		body["first_name"] = patch.FirstName.Value
	}
	var view management.InvitationView
	if err := client.Send(ctx, "POST", api.Path("organizations", "@current", "invites"), body, &view); err != nil {
		return err
	}
	answer.Email = view.Email
	return nil
}

// inviteByStore writes into a store, as its first owner.
func (p *program) inviteByStore(ctx context.Context, store, appURL string, patch management.InvitationPatch, answer *invited) (err error) {
	if err := database.Check(store); err != nil {
		return tool.WrongUsage("%w", err)
	}
	appURL = cmp.Or(appURL, p.Getenv("FLAGSTAFF_APP_URL"))
	u, err := url.Parse(appURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return tool.WrongUsage("flag -app-url is needed, and must be an http or https URL without query and fragment: the link begins with it")
	}
	log := slog.New(slog.NewTextHandler(p.Stderr, nil))
	opened, err := database.Open(ctx, store, sqlstore.Options{Log: log, MustExist: true})
	if errors.Is(err, sqlstore.ErrNoStore) {
		return fmt.Errorf("there is no store in %s: name another one with -store", database.Name(store))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	service, err := management.New(management.Config{Store: opened, Leader: opened, AppURL: strings.TrimSuffix(appURL, "/"), Log: log})
	if err != nil {
		return err
	}
	organization, principal, err := firstOwner(ctx, opened, service)
	if err != nil {
		return fmt.Errorf("%s: %w", database.Name(store), err)
	}
	patch.ShowLink = optional.Of(true)
	view, err := service.Invite(ctx, principal, organization.ID.String(), patch)
	if errors.Is(err, management.ErrConflict) { // the user is a member
		token, err := service.NewSignInLink(ctx, patch.Email.Value)
		if errors.Is(err, management.ErrNotFound) {
			return fmt.Errorf("%s: the account %s is not active", database.Name(store), tool.Printable(patch.Email.Value))
		}
		*answer = invited{Email: patch.Email.Value, Organization: organization.Name, Link: strings.TrimSuffix(appURL, "/") + "/console/join/" + token}
		return err
	}
	if refused, ok := errors.AsType[*management.Error](err); ok {
		return fmt.Errorf("%s: %s", cmp.Or(refused.Attr, database.Name(store)), refused.Detail)
	}
	if err != nil {
		return err
	}
	*answer = invited{Email: view.Email, Organization: organization.Name, Level: answer.Level, Link: view.Link}
	return nil
}

// firstOwner returns the first organization of a store, and its owner.
func firstOwner(ctx context.Context, store storage.Store, service *management.Service) (*storage.Organization, *management.Principal, error) {
	organizations, err := store.Organizations().List(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(organizations) == 0 {
		return nil, nil, errors.New("there is no organization yet; start the server on the store first")
	}
	members, err := store.Memberships().List(ctx, storage.MembershipOrganization.Is(organizations[0].ID))
	if err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		if m.Level != storage.LevelOwner {
			continue
		}
		owner, err := store.Users().Get(ctx, storage.UserID.Is(m.User))
		if err != nil {
			return nil, nil, err
		}
		principal, err := service.PrincipalOf(ctx, owner.UUID)
		if err != nil {
			continue // the owner is not active
		}
		return &organizations[0], principal, nil
	}
	return nil, nil, fmt.Errorf("organization %q has no active owner", organizations[0].Name)
}
