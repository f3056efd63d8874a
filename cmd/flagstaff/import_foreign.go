package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/release"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/foreign"
)

// decryptionKey is the variable of the environment with the key of a document that is encrypted.
const decryptionKey = "FLAGSTAFF_DECRYPTION_KEY"

// A foreignCall is what an import from another product asks for.
type foreignCall struct {
	environment, version, output string
	archived                     bool
	properties, inexact          []string
}

// flags returns the options of an import from another product.
func (f *foreignCall) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "environment", Usage: "take the environment or namespace `NAME`, of a file of another product that has several", Destination: &f.environment},
		&cli.StringFlag{Name: "bucket-version", Usage: "which `VERSION` of the other product served the users until now, where versions draw in different ways", Destination: &f.version},
		&cli.BoolFlag{Name: "archived", Usage: "take archived flags of another product, too", Destination: &f.archived},
		&cli.StringSliceFlag{Name: "map", Usage: "`ATTRIBUTE=PROPERTY` calls an attribute of another product by another name; can be repeated", Destination: &f.properties},
		&cli.StringSliceFlag{Name: "inexact", Usage: "take the flag `KEY` although some users would get another value; can be repeated", Destination: &f.inexact},
		&cli.StringFlag{Name: "o", Usage: "write the flags of another product to `FILE`, as definitions for the library, and ask no server", Destination: &f.output},
	}
}

// isSet returns the first option that is for other products alone.
func (f *foreignCall) isSet() string {
	switch {
	case f.environment != "":
		return "environment"
	case f.version != "":
		return "bucket-version"
	case f.archived:
		return "archived"
	case len(f.properties) > 0:
		return "map"
	case len(f.inexact) > 0:
		return "inexact"
	case f.output != "":
		return "o"
	}
	return ""
}

func (f *foreignCall) options(from string) *foreign.Options {
	return &foreign.Options{
		From: from, Environment: f.environment, Version: f.version, Archived: f.archived, Map: f.properties, Inexact: f.inexact,
	}
}

// isProduct reports whether -from names another product, and not a server.
func isProduct(from string) bool { return slices.Contains(foreign.Products(), from) }

// importForeign imports the flags of another product.
func (p *program) importForeign(ctx context.Context, c *importCall, path string) error {
	document, err := p.foreignDocument(ctx, c, path)
	if err != nil {
		return err
	}
	// A server gets what is decrypted, and never the key.
	if key := p.Getenv(decryptionKey); key != "" {
		if document, err = foreign.Decrypt(document, c.from, key); err != nil {
			return fmt.Errorf("%w The key is taken from %s", err, decryptionKey)
		}
	}
	if c.foreign.output != "" {
		return p.convert(c, document)
	}
	target, err := p.target(ctx, c)
	if err != nil {
		return err
	}
	tell, stop := p.importing()
	report, err := target.apply(ctx, document, management.ApplyOptions{DryRun: c.dryRun, From: c.foreign.options(c.from), Progress: tell})
	stop()
	if err = errors.Join(err, target.close()); err != nil {
		return err
	}
	if c.asJSON {
		err = p.JSON(struct {
			*management.ApplyReport
			DryRun bool `json:"dry_run"`
		}{report, c.dryRun})
	} else {
		err = p.printForeign(report, c.dryRun)
	}
	if err == nil && len(report.LeftOut) > 0 {
		return tool.ErrFound
	}
	return err
}

// convert writes the flags of another product as definitions.
func (p *program) convert(c *importCall, document []byte) error {
	converted, err := foreign.Convert(document, *c.foreign.options(c.from))
	if err != nil {
		return plain(err)
	}
	if err := tool.WriteFile(c.foreign.output, converted.Document); err != nil {
		return fmt.Errorf("write the definitions: %w", err)
	}
	var lines []string
	for _, note := range converted.Notes {
		lines = append(lines, "note: "+note)
	}
	lines = append(append(lines, keptLines(&converted.Report)...), fmt.Sprintf("wrote the flags to %s", tool.Printable(c.foreign.output)))
	if err := p.PrintLines(lines...); err != nil {
		return err
	}
	if len(converted.LeftOut) > 0 {
		return tool.ErrFound
	}
	return nil
}

// plain returns an error of the service as people read it.
func plain(err error) error {
	if e, ok := errors.AsType[*management.Error](err); ok {
		if e.Attr != "" {
			return fmt.Errorf("%s %s", e.Attr, e.Detail)
		}
		return errors.New(e.Detail)
	}
	return err
}

// undoImport takes back an import from another product.
func (p *program) undoImport(ctx context.Context, c *importCall) error {
	target, err := p.target(ctx, c)
	if err != nil {
		return err
	}
	if err := errors.Join(target.undo(ctx, c.undo), target.close()); err != nil {
		return err
	}
	return p.Print("the import %s is taken back", tool.Printable(c.undo))
}

// keptLines say what of flags is not kept, and what is worth knowing.
func keptLines(r *foreign.Report) (lines []string) {
	for _, k := range r.FlagNotes {
		lines = append(lines, "note: flag "+k.Flag+": "+strings.Join(k.Reasons, " "))
	}
	for _, k := range r.Inexact {
		lines = append(lines, "not exact: flag "+k.Flag+": "+strings.TrimSpace(strings.Join(k.Reasons, " ")+" "+r.Concerns(&k)))
	}
	for _, k := range r.LeftOut {
		lines = append(lines, "left out flag "+k.Flag+": "+strings.TrimSpace(strings.Join(k.Reasons, " ")+" "+r.Concerns(&k)))
	}
	return lines
}

func (p *program) printForeign(r *management.ApplyReport, dryRun bool) error {
	if err := p.PrintLines(keptLines(r.Report)...); err != nil {
		return err
	}
	if err := p.printApplied(r, dryRun); err != nil || r.ImportID == "" {
		return err
	}
	return p.Print("to take it back: flagstaff import -undo %s", r.ImportID)
}

// foreignDocument reads a file, all files of a folder, an archive, or an address.
func (p *program) foreignDocument(ctx context.Context, c *importCall, path string) ([]byte, error) {
	if u, err := url.Parse(path); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		return p.download(ctx, c, path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return readFolder(path)
	}
	document, err := p.importFile(path)
	if err == nil && bytes.HasPrefix(document, []byte{0x1f, 0x8b}) {
		return readArchive(document, c.foreign.environment)
	}
	return document, err
}

// download fetches a document, with the key of FLAGSTAFF_FROM_KEY if there is one.
func (p *program) download(ctx context.Context, c *importCall, address string) ([]byte, error) {
	client, key, err := p.ForeignClient(&c.Connection, address, importTime)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "flagstaff/"+release.Get().Version)
	if key != "" {
		request.Header.Set("Authorization", key)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch the flags: %w", err)
	}
	defer response.Body.Close()
	document, err := io.ReadAll(io.LimitReader(response.Body, flags.MaxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch the flags: %w", err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("fetch the flags: %s answered %s; the key is taken from FLAGSTAFF_FROM_KEY", request.URL.Host, response.Status)
	case len(document) > flags.MaxDocument:
		return nil, fmt.Errorf("the answer has more than %d MiB", flags.MaxDocument>>20)
	}
	return document, nil
}

// readFolder reads all JSON, YAML and TOML files of a folder as one document.
func readFolder(folder string) ([]byte, error) {
	var documents [][]byte
	size := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".json", ".yaml", ".yml", ".toml"}, filepath.Ext(path)) {
			return err
		}
		document, err := os.ReadFile(path)
		if size += len(document); size > flags.MaxDocument {
			return fmt.Errorf("%s has more than %d MiB of files", folder, flags.MaxDocument>>20)
		}
		documents = append(documents, document)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("%s has no JSON, YAML or TOML file", folder)
	}
	joined, err := foreign.Join(documents...)
	return joined, plain(err)
}

// readArchive reads the offline archive of LaunchDarkly's Relay Proxy, which has two files for
// each environment.
func readArchive(archive []byte, environment string) ([]byte, error) {
	const data = "-data.json"
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	files := make(map[string][]byte)
	for r := tar.NewReader(io.LimitReader(unzipped, flags.MaxDocument)); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		if files[filepath.Base(header.Name)], err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
	}
	var found []string
	for name := range files {
		id, ok := strings.CutSuffix(name, data)
		if ok && (environment == "" || id == environment || mentions(files[id+".json"], environment)) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("the archive has no environment %s", cmp.Or(environment, "at all"))
	case 1:
		return files[found[0]+data], nil
	}
	return nil, fmt.Errorf("the archive has the environments %s: name one with -environment", strings.Join(found, ", "))
}

// mentions reports whether a text is a value in JSON.
func mentions(document []byte, text string) bool {
	var value any
	if json.Unmarshal(document, &value) != nil {
		return false
	}
	var in func(any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return v == text
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			for _, one := range v {
				if in(one) {
					return true
				}
			}
		}
		return false
	}
	return in(value)
}

func (t serverTarget) apply(ctx context.Context, document []byte, o management.ApplyOptions) (*management.ApplyReport, error) {
	f := o.From
	query := url.Values{"from": {f.From}, "map": f.Map, "inexact": f.Inexact}
	for name, value := range map[string]string{"environment": f.Environment, "bucket_version": f.Version} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, asked := range map[string]bool{"archived": f.Archived, "dry_run": o.DryRun} {
		if asked {
			query.Set(name, "true")
		}
	}
	report := new(management.ApplyReport)
	err := t.Upload(ctx, t.InProject("apply")+"?"+query.Encode(), document, report)
	if err == nil && report.Report == nil {
		err = errors.New("the server's answer has no report of the import: is it a Flagstaff server of this version?")
	}
	return report, err
}

func (t storeTarget) apply(ctx context.Context, document []byte, o management.ApplyOptions) (*management.ApplyReport, error) {
	report, err := t.service.Apply(ctx, t.project.ID, document, o)
	return report, plain(err)
}

func (t serverTarget) undo(ctx context.Context, importID string) error {
	return t.Send(ctx, "POST", t.InProject("apply", importID, "undo"), struct{}{}, new(struct{}))
}

func (t storeTarget) undo(ctx context.Context, importID string) error {
	return plain(t.service.UndoApplyHere(ctx, t.project.ID, importID))
}
