package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// runner checks one case. The error says what was wanted and what came.
type runner func(c json.RawMessage) error

// runners has one for each kind of file. A nil one is a kind whose files are
// skipped, visibly.
var runners = map[string]runner{
	"prefix": runPrefix,
	"window": runWindow,
	"hybrid": runHybrid,
	"tail":   runTail,
	"lru":    runLRU,
}

// Failure is a case that did not come out right, or a line that could not be read.
type Failure struct {
	// Where is file:line.
	Where string
	// ID is the case's own name, if it could be read.
	ID string
	// Input is the line.
	Input string
	// Err says what was wanted and what came.
	Err error
}

func (f Failure) String() string {
	return fmt.Sprintf("%s: case %q: %v\n\tinput: %s", f.Where, f.ID, f.Err, f.Input)
}

// Report is the outcome of one file.
type Report struct {
	// File is the base name.
	File string
	// Cases and Passed count the lines that are cases.
	Cases, Passed int
	// Failures has one entry for each case that did not pass.
	Failures []Failure
	// Skipped says why the file was not run; empty if it was.
	Skipped string
}

// String is the line to print for the file.
func (r Report) String() string {
	if r.Skipped != "" {
		return fmt.Sprintf("vectors %s: skipped, %s", r.File, r.Skipped)
	}
	return fmt.Sprintf("vectors %s: %d cases, %d passed", r.File, r.Cases, r.Passed)
}

// RunFolder runs every .jsonl file of a folder, in the order of their names. A
// folder that can't be read, or that has no such file, is an error.
func RunFolder(folder string) ([]Report, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("conformance: no .jsonl file in %s", folder)
	}
	slices.Sort(files)
	var reports []Report
	var errs []error
	for _, file := range files {
		r, err := RunFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		reports = append(reports, r)
	}
	return reports, errors.Join(errs...)
}

// RunFile runs one file. Wrong answers are in the report; the error is for a file
// that can't be read as a whole: unknown in kind, empty, without its first line.
func RunFile(path string) (Report, error) {
	rep := Report{File: filepath.Base(path)}
	kind := kindOf(rep.File)
	run, known := runners[kind]
	if !known {
		return rep, fmt.Errorf("conformance: %s: unknown kind of file %q", path, kind)
	}
	if run == nil {
		rep.Skipped = "no runner for kind " + kind
		return rep, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return rep, fmt.Errorf("conformance: %w", err)
	}
	if err := rep.lines(data, run); err != nil {
		return rep, fmt.Errorf("conformance: %s: %w", path, err)
	}
	return rep, nil
}

func (r *Report) lines(data []byte, run runner) error {
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, len(data)+1) // a line may be the whole file
	for n := 1; in.Scan(); n++ {
		line := bytes.TrimSpace(in.Bytes())
		if n == 1 {
			if err := checkDoc(line); err != nil {
				return err
			}
			continue
		}
		if len(line) > 0 {
			r.one(n, line, run)
		}
	}
	if r.Cases == 0 {
		return errors.New("no cases")
	}
	return in.Err()
}

func checkDoc(line []byte) error {
	var head struct{ Doc json.RawMessage }
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	if head.Doc == nil {
		return errors.New(`line 1 is not {"doc": ...}`)
	}
	return nil
}

func (r *Report) one(n int, line []byte, run runner) {
	r.Cases++
	var head struct{ ID string }
	err := json.Unmarshal(line, &head)
	if err == nil {
		err = run(json.RawMessage(line))
	}
	if err == nil {
		r.Passed++
		return
	}
	r.Failures = append(r.Failures, Failure{
		Where: fmt.Sprintf("%s:%d", r.File, n), ID: head.ID, Input: string(line), Err: err,
	})
}

// kindOf is the beginning of a file's name that is small letters.
func kindOf(file string) string {
	end := strings.IndexFunc(file, func(c rune) bool { return c < 'a' || c > 'z' })
	if end < 0 {
		return file
	}
	return file[:end]
}
