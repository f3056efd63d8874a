package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/release"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// importTime is how long a server may take for an import, which proves each flag.
const importTime = 10 * time.Minute

// An importCall is one call of the command.
type importCall struct {
	remote
	from, fromProject, store string
	dryRun                   bool
	undo                     string
	foreign                  foreignCall
}

// importCommand makes the flags and cohorts of a document, or of another server.
func (p *program) importCommand() *cli.Command {
	var c importCall
	return &cli.Command{
		Name:     "import",
		Category: tool.OfFlags,
		Usage:    "make the flags and cohorts of a file, or of another server",
		UsageText: tool.ProgramName + " import [FLAGS] FILE\n" +
			tool.ProgramName + " import [FLAGS] -from URL\n" +
			tool.ProgramName + " import [FLAGS] -from PRODUCT FILE\n" +
			tool.ProgramName + " import [FLAGS] -undo ID\n" +
			tool.ProgramName + " import -store STORE [FLAGS] FILE",
		Description: `Import makes the flags and cohorts of FILE in a project: a definitions document, such as
export and the definitions endpoint write it, or lists of flags and cohorts as the
management API has them, one after the other. "-" is standard input. What the project has
already stays as it is, so that a second import changes nothing (apply changes it). What
cannot be imported is left out, and the report says why. Before anything is stored, each
new flag is evaluated for a thousand random persons, here and as the file has it; one
difference, and nothing is stored.

With -from it asks another server, also one of the public system, for all its flags,
cohorts, and members of static cohorts. The personal API key for that server is in
FLAGSTAFF_FROM_KEY; it needs feature_flag:read, cohort:read, group:read, project:read, and
person:read for the members.

With -from and the name of another product FILE is what that product writes: JSON, YAML or
TOML, a folder of such files, an archive of LaunchDarkly's Relay Proxy, or an address, with
the key in FLAGSTAFF_FROM_KEY. What GrowthBook has encrypted is decrypted with the key in
FLAGSTAFF_DECRYPTION_KEY. Each user's value stays what it is there, because the same
hashes are drawn with the same seeds and ends. A flag that cannot keep its values is left
out, and the report says why, unless -inexact takes it. What the project has from an
earlier import is changed to what FILE says now. The products are
` + strings.Join(foreign.Products(), ", ") + `.

With -store it writes into a store instead of asking a server; running servers follow
within a second.

The exit code is 1 if something was left out.

Examples:

	flagstaff import -dry-run flags.json
	flagstaff import flags.json
	FLAGSTAFF_FROM_KEY=$(cat key.txt) flagstaff import -from https://eu.posthog.com -from-project 42
	flagstaff import -from launchdarkly -dry-run flags.json
	flagstaff import -store flagstaff.db flags.json`,
		Flags: c.flags(append(c.foreign.flags(),
			&cli.StringFlag{Name: "from", Usage: "take flags and cohorts from the server at `URL`, or name another product that wrote FILE", Destination: &c.from},
			&cli.StringFlag{Name: "from-project", Usage: "the `ID` of the project there (default the current project of the key's user)", Destination: &c.fromProject},
			&cli.StringFlag{Name: "undo", Usage: "take back the import from another product with the `ID` that it has printed: all of it, or nothing if somebody has changed something of it since", Destination: &c.undo},
			&cli.BoolFlag{Name: "dry-run", Usage: "store nothing; print what an import would do", Destination: &c.dryRun},
			&cli.StringFlag{Name: "store", Usage: "write into `STORE`, an SQLite file or postgres://USER:PASSWORD@HOST/DATABASE, instead of asking a server. -project may be a project API key then (default the first project)", Destination: &c.store},
		)...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			names := []string{"FILE"}
			other := isProduct(c.from)
			if c.from != "" && !other || c.undo != "" {
				names = nil
			}
			args, err := tool.WantArgs(cmd, names...)
			switch {
			case c.undo != "" && (err != nil || c.from != "" || c.dryRun || c.foreign.isSet() != ""):
				return tool.WrongUsage("flag -undo stands alone; see %s -help", cmd.FullName())
			case c.from != "" && !other && !strings.Contains(c.from, "://"):
				return tool.WrongUsage("flag -from: want the URL of a server, which begins with https:// or http://, or one of %s", strings.Join(foreign.Products(), ", "))
			case err != nil && c.from != "" && !other:
				return tool.WrongUsage("want a FILE or -from, not both; see %s -help", cmd.FullName())
			case err != nil:
				return err
			case c.fromProject != "" && (c.from == "" || other):
				return tool.WrongUsage("flag -from-project is for -from URL")
			case c.foreign.isSet() != "" && !other:
				return tool.WrongUsage("flag -%s is for -from PRODUCT", c.foreign.isSet())
			case c.foreign.output != "" && (c.dryRun || c.store != "" || c.asJSON):
				return tool.WrongUsage("flag -o writes a file, without a dry run, a store or JSON")
			case c.store != "" && c.URL != "":
				return tool.WrongUsage("flags -store and -url exclude each other")
			}
			if c.undo != "" {
				return p.undoImport(ctx, &c)
			}
			if other {
				return p.importForeign(ctx, &c, args[0])
			}
			return p.importInto(ctx, &c, args)
		},
	}
}

func (p *program) importInto(ctx context.Context, c *importCall, args []string) (err error) {
	var there *api.Client
	if c.from != "" {
		if there, err = p.clientFrom(c); err != nil {
			return err
		}
	}
	target, err := p.target(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.close()) }()

	report := importReport{DryRun: c.dryRun, Members: []membersReport{}}
	var document []byte
	if there != nil {
		done, stop := p.Counting("fetched %d flags and cohorts")
		copied, err := tool.FetchProject(ctx, there, done)
		stop()
		if err != nil {
			return fmt.Errorf("fetch from %s: %w", c.from, err)
		}
		report.fetched = copied.Notes
		if document, err = copied.Document(); err != nil {
			return err
		}
	} else if document, err = p.importFile(args[0]); err != nil {
		return err
	}
	tell, stop := p.importing()
	report.ImportReport, err = target.take(ctx, document, management.ImportOptions{DryRun: c.dryRun, Progress: tell})
	if stop(); err != nil {
		return err
	}
	report.Notes = append(report.fetched, report.Notes...)
	if there != nil && !c.dryRun {
		for _, cohort := range report.StaticCohorts {
			m, err := p.copyMembers(ctx, there, target, cohort)
			if err != nil {
				return fmt.Errorf("the flags and cohorts are imported; the members of cohort %q are not, and importing again goes on with them: %w", cohort.Name, err)
			}
			report.Members = append(report.Members, m)
		}
	}
	if c.asJSON {
		err = p.JSON(report)
	} else {
		err = p.printImport(&report, there != nil)
	}
	if err == nil && len(report.Left) > 0 {
		return tool.ErrFound
	}
	return err
}

// clientFrom returns the client of the server that -from names.
func (p *program) clientFrom(c *importCall) (*api.Client, error) {
	key := p.Getenv("FLAGSTAFF_FROM_KEY")
	if key == "" {
		return nil, tool.WrongUsage("there is no personal API key for -from: put it into FLAGSTAFF_FROM_KEY, not into an argument, which others can see")
	}
	roots, err := c.Roots()
	if err != nil {
		return nil, err
	}
	client, err := api.New(api.Config{
		URL: c.from, Key: key, Project: c.fromProject, Roots: roots, Insecure: c.Insecure, UserAgent: "flagstaff/" + release.Get().Version,
	})
	if err != nil {
		return nil, tool.WrongUsage("flag -from: %w", tool.WayOut(err))
	}
	return client, nil
}

// importFile reads the file of an import.
func (p *program) importFile(path string) ([]byte, error) {
	files := tool.Opener{Stdin: p.Stdin}
	document, name, err := files.Read(path, flags.MaxDocument+1)
	if len(document) > flags.MaxDocument {
		return nil, fmt.Errorf("%s has more than %d MiB", name, flags.MaxDocument>>20)
	}
	return document, err
}

// importing tells people how far an import is or, while nobody says that, for how long it runs.
func (p *program) importing() (tell func(what string, done, total int), stop func()) {
	begun := time.Now()
	var far atomic.Value
	stop = p.Progress(func() string {
		if said := far.Load(); said != nil {
			return said.(string)
		}
		return fmt.Sprintf("waiting for the import for %d s", int(time.Since(begun).Seconds()))
	})
	return func(what string, done, total int) { far.Store(fmt.Sprintf("%s: %d of %d", what, done, total)) }, stop
}

// A target is what an import goes into.
type target interface {
	take(ctx context.Context, document []byte, o management.ImportOptions) (*management.ImportReport, error)
	undo(ctx context.Context, importID string) error
	apply(ctx context.Context, document []byte, o management.ApplyOptions) (*management.ApplyReport, error)

	// members yields the distinct IDs of the members that a static cohort has, and add
	// adds others. It returns how many persons were not members.
	members(ctx context.Context, cohort int64, yield func(distinctID string) error) error
	add(ctx context.Context, cohort int64, distinctIDs []string) (int, error)

	close() error
}

// target returns what an import goes into.
func (p *program) target(ctx context.Context, c *importCall) (target, error) {
	if c.store != "" {
		return p.storeTarget(ctx, c.store, c.Project)
	}
	client, err := p.ClientWithin(&c.Connection, importTime)
	return serverTarget{client}, err
}

// A serverTarget is a project of a server.
type serverTarget struct{ *api.Client }

func (t serverTarget) close() error { return nil }

func (t serverTarget) take(ctx context.Context, document []byte, o management.ImportOptions) (*management.ImportReport, error) {
	path := t.InProject("import")
	if o.DryRun {
		path += "?dry_run=true"
	}
	report := new(management.ImportReport)
	return report, t.Upload(ctx, path, document, report)
}

func (t serverTarget) members(ctx context.Context, cohort int64, yield func(string) error) error {
	return membersOf(ctx, t.Client, cohort, yield)
}

func (t serverTarget) add(ctx context.Context, cohort int64, distinctIDs []string) (int, error) {
	var told management.CohortUpload
	err := t.Send(ctx, "POST", t.InProject("cohorts", strconv.FormatInt(cohort, 10), "members"), distinctIDs, &told)
	return told.Added, err
}

// A storeTarget is a project of a store.
type storeTarget struct {
	sqlstore.Storage
	service *management.Service
	project *storage.Project
}

// storeTarget opens a store that a server has made. The project is named by its ID or
// its API key, and the first one if it is not named.
func (p *program) storeTarget(ctx context.Context, store, name string) (_ target, err error) {
	if err := database.Check(store); err != nil {
		return nil, tool.WrongUsage("%w", err)
	}
	log := slog.New(slog.NewTextHandler(p.Stderr, nil))
	opened, err := database.Open(ctx, store, sqlstore.Options{Log: log, MustExist: true})
	if errors.Is(err, sqlstore.ErrNoStore) {
		return nil, fmt.Errorf("there is no store in %s: start the server on it first, or name another one with -store", database.Name(store))
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}()
	projects, err := opened.Projects().List(ctx)
	if err != nil {
		return nil, err
	}
	if len(projects) == 0 {
		return nil, fmt.Errorf("%s has no project yet: start the server on it first", database.Name(store))
	}
	i := 0
	if name = strings.TrimSpace(name); name != "" {
		i = slices.IndexFunc(projects, func(p storage.Project) bool { return p.APIKey == name || strconv.FormatInt(p.ID, 10) == name })
	}
	if i < 0 {
		var known []string
		for i := range projects {
			known = append(known, fmt.Sprintf("%d (%s)", projects[i].ID, projects[i].Name))
		}
		return nil, fmt.Errorf("%s has no project with the ID or the API key of -project; it has %s", database.Name(store), strings.Join(known, ", "))
	}
	service, err := management.New(management.Config{Store: opened, Data: opened, Log: log})
	if err != nil {
		return nil, err
	}
	return storeTarget{opened, service, &projects[i]}, nil
}

func (t storeTarget) close() error { return t.Storage.Close() }

func (t storeTarget) take(ctx context.Context, document []byte, o management.ImportOptions) (*management.ImportReport, error) {
	report, err := t.service.Import(ctx, t.project.ID, document, o)
	if e, ok := errors.AsType[*management.Error](err); ok {
		err = fmt.Errorf("project %q: %s", t.project.Name, e.Detail)
	}
	return report, err
}

func (t storeTarget) members(ctx context.Context, cohort int64, yield func(string) error) error {
	for offset := 0; ; offset += pageOfPersons {
		list, _, err := t.Persons(ctx, t.project.ID, storage.PersonFilter{Cohort: cohort}, pageOfPersons, offset)
		if err != nil {
			return err
		}
		for i := range list {
			for _, id := range list[i].DistinctIDs {
				if err := yield(id); err != nil {
					return err
				}
			}
		}
		if len(list) < pageOfPersons {
			return nil
		}
	}
}

func (t storeTarget) add(ctx context.Context, cohort int64, distinctIDs []string) (int, error) {
	added, _, err := t.AddCohortMembers(ctx, t.project.ID, cohort, uuid.Nil, distinctIDs)
	return added, err
}

// An importReport is what -json prints of an import.
type importReport struct {
	*management.ImportReport
	DryRun  bool            `json:"dry_run"`
	Members []membersReport `json:"members"`

	fetched []string // notes
}

// A membersReport says what became of the members of a static cohort.
type membersReport struct {
	Cohort   string `json:"cohort"`
	Received int    `json:"received"` // distinct IDs
	Added    int    `json:"added"`    // persons who were not members
}

// copyMembers adds the members of a static cohort elsewhere that are missing here.
func (p *program) copyMembers(ctx context.Context, there *api.Client, here target, cohort management.StaticCohort) (membersReport, error) {
	report := membersReport{Cohort: cohort.Name}
	known := make(map[string]bool)
	if !cohort.Made {
		note := func(id string) error {
			known[id] = true
			return nil
		}
		if err := here.members(ctx, cohort.ID, note); err != nil {
			return report, err
		}
	}
	done, stop := p.Counting("copied %d members of cohort " + strconv.Quote(cohort.Name))
	defer stop()
	var part []string
	flush := func() error {
		if len(part) == 0 {
			return nil
		}
		n, err := here.add(ctx, cohort.ID, part)
		report.Added += n
		part = part[:0]
		return err
	}
	err := membersOf(ctx, there, cohort.IDInFile, func(id string) error {
		report.Received++
		done(report.Received)
		if known[id] {
			return nil
		}
		if part = append(part, id); len(part) == maxPartOfMembers {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return report, err
}

// printImport prints a report for people: what was made, and what needs their eyes.
func (p *program) printImport(r *importReport, withMembers bool) error {
	made := "made"
	if r.DryRun {
		made = "would make"
	}
	var lines []string
	for _, name := range r.Cohorts {
		lines = append(lines, fmt.Sprintf("%s cohort %q", made, name))
	}
	for _, key := range r.Flags {
		lines = append(lines, made+" flag "+key)
	}
	for _, m := range r.Members {
		lines = append(lines, fmt.Sprintf("cohort %q: %s, of which %d are new", m.Cohort, tool.Count(m.Received, "member"), m.Added))
	}
	for _, c := range r.StaticCohorts {
		if c.Made && !withMembers {
			lines = append(lines, fmt.Sprintf("note: the static cohort %q has no members: the file does not have them", c.Name))
		}
	}
	for _, note := range r.Notes {
		lines = append(lines, "note: "+note)
	}
	for _, left := range r.Left {
		lines = append(lines, fmt.Sprintf("left out %s: %s", left.What, left.Reason))
	}
	summary := fmt.Sprintf("%s and %s imported", tool.Count(len(r.Flags), "flag"), tool.Count(len(r.Cohorts), "cohort"))
	if r.DryRun {
		summary = fmt.Sprintf("%s and %s would be imported", tool.Count(len(r.Flags), "flag"), tool.Count(len(r.Cohorts), "cohort"))
	}
	if n := len(r.Unchanged); n > 0 {
		summary += fmt.Sprintf(", %d there already", n)
	}
	if n := len(r.Left); n > 0 {
		summary += fmt.Sprintf(", %d left out", n)
	}
	if r.Parity > 0 {
		summary += fmt.Sprintf("; each new flag has the same value as at its origin for %d random persons", r.Parity)
	}
	return p.PrintLines(append(lines, summary)...)
}
