package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// A Release is the preparation of a release.
type Release struct {
	Repo     *Repo
	Version  string    // such as v0.1.0
	Date     time.Time // in the changelog, and of the files in archives
	Out      string    // the folder for binaries; it must not exist
	Progress io.Writer

	Platforms []Platform // of the binaries
	unproved  bool       // without Consume, in tests
}

// Prepare makes a release on this machine and pushes nothing. It proves that the
// modules can be used at the version, builds the binaries, and then writes the version
// into the go.mod files and the changelog, commits that, and tags the commit once for
// each module. If it fails before, the checkout is as it was. With dry, it checks what
// can be checked at once, says what it would do, and does nothing.
func (l *Release) Prepare(ctx context.Context, dry bool) error {
	r := l.Repo
	l.Date = l.Date.UTC().Truncate(24 * time.Hour) // as Build reads it
	if err := errors.Join(checkVersion(l.Version), l.checkClean(ctx)); err != nil {
		return err
	}
	branch, err := r.git(ctx, "branch", "--show-current")
	if err != nil {
		return err
	}
	branch = strings.TrimSpace(branch)
	if branch == "" {
		return errors.New("no branch is checked out: the release needs one for its commit")
	}
	if err := l.checkTags(ctx); err != nil {
		return err
	}
	changelog, err := r.read(changelogFile)
	if err != nil {
		return err
	}
	text, notes, err := released(string(changelog), l.Version, l.Date)
	if err != nil {
		return err
	}
	if _, err := os.Stat(l.Out); err == nil {
		return fmt.Errorf("%s exists: move it away, or remove it", l.Out)
	}
	var tags []string
	for _, m := range r.Published() {
		tags = append(tags, m.Tag(l.Version))
	}
	push := fmt.Sprintf("git push --atomic origin %s %s", branch, strings.Join(tags, " "))
	if dry {
		l.say("would set %s in the go.mod files and in %s, and commit it on %s", l.Version, changelogFile, branch)
		l.say("would tag that commit %s", strings.Join(tags, ", "))
		for _, p := range l.Platforms {
			l.say("would build %s", filepath.Join(l.Out, l.archiveName(p)))
		}
		l.say("nothing was changed")
		return nil
	}

	r.edited[changelogFile] = []byte(text)
	if err := r.setVersion(l.Version); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := l.setSums(filepath.Join(temporary, "sums")); err != nil {
		return err
	}
	if !l.unproved {
		if err := r.Consume(ctx, filepath.Join(temporary, "consume"), l.Version, l.Progress); err != nil {
			return err
		}
	}
	if err := l.build(ctx, filepath.Join(temporary, "build")); err != nil {
		return err
	}
	if err := l.commit(ctx, notes); err != nil {
		return err
	}
	l.say("committed on %s and tagged %s", branch, strings.Join(tags, ", "))
	l.image(ctx)
	l.say("nothing was pushed; to publish: %s", push)
	return nil
}

// Build builds the binaries of the version that is checked out and tagged.
func (l *Release) Build(ctx context.Context) error {
	r := l.Repo
	if err := errors.Join(checkVersion(l.Version), l.checkClean(ctx)); err != nil {
		return err
	}
	tags, err := r.git(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return err
	}
	for _, m := range r.Published() {
		if tag := m.Tag(l.Version); !slices.Contains(strings.Fields(tags), tag) {
			return fmt.Errorf("the commit that is checked out has no tag %s", tag)
		}
	}
	version, err := r.Version()
	if err != nil {
		return err
	}
	if version != l.Version {
		return fmt.Errorf("the go.mod files are for %s, not for %s", version, l.Version)
	}
	changelog, err := r.read(changelogFile)
	if err != nil {
		return err
	}
	if l.Date, err = releaseDate(string(changelog), l.Version); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := l.setSums(filepath.Join(temporary, "sums")); err != nil {
		return err
	}
	if len(r.edited) > 0 {
		return fmt.Errorf("the checksums of the modules in go.sum of the program are not the ones of this commit")
	}
	return l.build(ctx, filepath.Join(temporary, "build"))
}

func (l *Release) say(format string, args ...any) { fmt.Fprintf(l.Progress, format+"\n", args...) }

// checkVersion returns an error unless a version can be released.
func checkVersion(version string) error {
	switch {
	case !semver.IsValid(version) || semver.Canonical(version) != version:
		return fmt.Errorf("invalid version %q: want such as v0.1.0 or v0.2.0-rc.1, without build metadata", version)
	case semver.Major(version) != "v0" && semver.Major(version) != "v1":
		return fmt.Errorf("invalid version %q: from v2 on, the paths of the modules must end with the major version, and they do not", version)
	}
	return nil
}

// checkClean returns an error if the checkout has something that is not committed.
func (l *Release) checkClean(ctx context.Context) error {
	changes, err := l.Repo.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the checkout has changes that are not committed:\n%s", strings.TrimRight(changes, "\n"))
	}
	return nil
}

// checkTags returns an error if the version is not newer than all that are tagged.
func (l *Release) checkTags(ctx context.Context) error {
	list, err := l.Repo.git(ctx, "tag", "--list")
	if err != nil {
		return err
	}
	for tag := range strings.FieldsSeq(list) {
		if version := path.Base(tag); semver.IsValid(version) && semver.Compare(version, l.Version) >= 0 {
			return fmt.Errorf("%s is not a new version: there is a tag %s", l.Version, tag)
		}
	}
	return nil
}

// setSums puts the checksums of the modules that the programs require, as they are at
// the version, into the programs' go.sum.
func (l *Release) setSums(proxy string) error {
	r := l.Repo
	for _, m := range r.Published() {
		if !m.isProgram() {
			continue // a library has replace directives
		}
		// The checksum of module cmd, which cmd/flagstaff requires and which comes before it,
		// is also about the go.sum that cmd has just got.
		if err := r.writeProxy(proxy, l.Version); err != nil {
			return err
		}
		name := path.Join(m.Folder, "go.sum")
		before, err := r.read(name)
		if err != nil {
			return err
		}
		lines := r.othersLines(before)
		for _, require := range m.File.Require {
			if r.isOurs(require.Mod.Path) {
				more, err := sums(proxy, require.Mod)
				if err != nil {
					return err
				}
				lines = append(lines, more...)
			}
		}
		if after := sumFile(lines); after != string(before) {
			r.edited[name] = []byte(after)
		}
	}
	return nil
}

// sumFile returns the go.sum with these lines, in the order of the go command.
func sumFile(lines []string) string {
	var keys []module.Version // the version ends with /go.mod if the line is about that
	byKey := make(map[module.Version]string)
	for _, line := range lines {
		if fields := strings.Fields(line); len(fields) == 3 {
			key := module.Version{Path: fields[0], Version: fields[1]}
			keys = append(keys, key)
			byKey[key] = line + "\n"
		}
	}
	module.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(byKey[key])
	}
	return b.String()
}

// commit writes the edited files, commits them, and tags the commit. The tag of the
// root module has the notes of the release.
func (l *Release) commit(ctx context.Context, notes string) error {
	r := l.Repo
	if err := r.write(); err != nil {
		return err
	}
	message := "Release " + l.Version
	names := slices.Sorted(maps.Keys(r.edited))
	if _, err := r.git(ctx, append([]string{"commit", "--quiet", "-m", message, "--"}, names...)...); err != nil {
		return err
	}
	var done []string
	for _, m := range r.Published() {
		text := message
		if m.Folder == "." {
			text += "\n\n" + notes
		}
		// Headings begin with what Git takes for comments unless it is told otherwise.
		_, err := r.git(ctx, "tag", "-a", "--cleanup=whitespace", "-m", text, m.Tag(l.Version))
		if err == nil {
			done = append(done, m.Tag(l.Version))
			continue
		}
		if len(done) > 0 {
			_, undo := r.git(ctx, append([]string{"tag", "-d"}, done...)...)
			err = errors.Join(err, undo)
		}
		return fmt.Errorf("the commit was made, but not its tags; git reset --hard HEAD~1 takes it back: %w", err)
	}
	return nil
}

// image builds the image if there is a Docker daemon, and otherwise says how.
func (l *Release) image(ctx context.Context) {
	args := []string{"build", "--quiet", "--build-arg", "VERSION=" + l.Version, "--tag", "flagstaff:" + l.Version, "."}
	command := "docker " + strings.Join(args, " ")
	if err := exec.CommandContext(ctx, "docker", "info").Run(); err != nil {
		l.say("no image was built, because no Docker daemon answers; to build it: %s", command)
		return
	}
	build := exec.CommandContext(ctx, "docker", args...)
	build.Dir = l.Repo.dir
	if _, err := output(build); err != nil {
		l.say("no image was built: %v", err)
		return
	}
	l.say("built the image flagstaff:%s", l.Version)
}
