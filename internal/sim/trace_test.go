package sim

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const goodLine = `{"timestamp": 3000, "input_length": 700, "output_length": 5, "hash_ids": [4, 5]}`

func TestReadTrace(t *testing.T) {
	list, err := ReadTrace(strings.NewReader(goodLine+"\n\n"+goodLine+"\n"), 0)
	require.NoError(t, err)
	want := Request{Arrival: 3 * time.Second, Input: 700, Output: 5, Blocks: []uint64{4, 5}}
	require.Equal(t, []Request{want, want}, list)
	list, err = ReadTrace(strings.NewReader(goodLine+"\n"+goodLine+"\nnonsense"), 2)
	require.NoError(t, err)
	require.Len(t, list, 2, "what is beyond the limit is not read")
}

func TestReadTraceSaysWhatIsWrongWhere(t *testing.T) {
	for line, want := range map[string]string{
		`{`:  "line 2: unexpected end of JSON",
		`[]`: "line 2: json: cannot unmarshal array",
		`{"input_length": 1, "output_length": 1, "hash_ids": [1]}`:                           "line 2: timestamp is missing",
		`{"timestamp": -1, "input_length": 1, "output_length": 1, "hash_ids": [1]}`:          "line 2: timestamp is -1, want 0 to",
		`{"timestamp": 1e300, "input_length": 1, "output_length": 1, "hash_ids": [1]}`:       "line 2: timestamp is 1e+300",
		`{"timestamp": 2999, "input_length": 1, "output_length": 1, "hash_ids": [1]}`:        "line 2: timestamp is before that of the line above",
		`{"timestamp": 3000, "output_length": 1, "hash_ids": [1]}`:                           "line 2: input_length is missing",
		`{"timestamp": 3000, "input_length": 0, "output_length": 1, "hash_ids": []}`:         "line 2: input_length is 0, want 1 to",
		`{"timestamp": 3000, "input_length": 1, "hash_ids": [1]}`:                            "line 2: output_length is missing",
		`{"timestamp": 3000, "input_length": 1, "output_length": -1, "hash_ids": [1]}`:       "line 2: output_length is -1, want 0 to",
		`{"timestamp": 3000, "input_length": 513, "output_length": 1, "hash_ids": [1]}`:      "line 2: hash_ids has 1 ids, 513 tokens have 2 blocks",
		`{"timestamp": 3000, "input_length": 1, "output_length": 1, "hash_ids": [-1]}`:       "line 2: json: cannot unmarshal number -1",
		`{"timestamp": 3000, "input_length": 600, "output_length": 1, "hash_ids": [7, 7]}`:   "line 2: hash_ids has 7 twice",
		`{"timestamp": 3000, "input_length": 1, "output_length": 1, "hash_ids": [1]} {}`:     "line 2: invalid character '{'",
		`{"timestamp": 3000, "input_length": 1, "output_length": 1, "hash_ids": null}`:       "line 2: hash_ids has 0 ids",
		`{"timestamp": 3000, "input_length": 1.5, "output_length": 1, "hash_ids": [1]}`:      "input_length of type int",
		`{"timestamp": 3000, "input_length": 16777217, "output_length": 1, "hash_ids": [1]}`: "line 2: input_length is 16777217",
		`{"timestamp": "soon", "input_length": 1, "output_length": 1, "hash_ids": [-1]}`:     "line 2: json: cannot unmarshal string",
	} {
		_, err := ReadTrace(strings.NewReader(goodLine+"\n"+line+"\n"), 0)
		require.ErrorIs(t, err, ErrTrace, line)
		require.ErrorContains(t, err, want)
	}
	_, err := ReadTrace(strings.NewReader(" \n"), 0)
	require.ErrorContains(t, err, "no requests")
	_, err = ReadTrace(strings.NewReader(strings.Repeat("x", maxLine+1)), 0)
	require.ErrorContains(t, err, "line 1: bufio.Scanner: token too long")
}

func FuzzReadTrace(f *testing.F) {
	f.Add(goodLine)
	f.Add(`{"timestamp": 1e400}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadTrace(strings.NewReader(text), 100)
		if err != nil {
			require.ErrorIs(t, err, ErrTrace)
			return
		}
		for i, r := range list {
			require.Len(t, r.Blocks, blocksFor(r.Input))
			require.GreaterOrEqual(t, r.Output, 0)
			require.True(t, r.Arrival >= 0 && (i == 0 || r.Arrival >= list[i-1].Arrival))
		}
	})
}

func TestReadTheConversationTrace(t *testing.T) {
	file, err := os.Open("../../../shared/traces/conversation_trace.jsonl")
	if err != nil {
		t.Skip("the public trace is not beside the project: ", err)
	}
	defer file.Close()
	list, err := ReadTrace(file, 0)
	require.NoError(t, err)
	require.Len(t, list, 12031)
	blocks := 0
	for _, r := range list {
		blocks += len(r.Blocks)
	}
	require.InDelta(t, 288500, blocks, 500)
}
