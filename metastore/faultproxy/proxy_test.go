// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package faultproxy_test

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/metastore/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a server that answers each line with itself and remembers it.
type lines struct {
	listener net.Listener
	done     sync.WaitGroup
	mu       sync.Mutex
	got      []string
}

func serve(t *testing.T) *lines {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &lines{listener: listener}
	s.done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.done.Go(func() { s.answer(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.done.Wait()
	})
	return s
}

func (s *lines) answer(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		s.mu.Lock()
		s.got = append(s.got, strings.TrimSpace(line))
		s.mu.Unlock()
		if _, err := conn.Write([]byte(line)); err != nil {
			return
		}
	}
}

func (s *lines) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.got...)
}

// ask sends a line on a new connection and returns the answer, empty when the
// connection ended.
func ask(t *testing.T, addr string, pieces ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	for _, piece := range pieces {
		if _, err := conn.Write([]byte(piece)); err != nil {
			return ""
		}
		time.Sleep(time.Millisecond) // pieces of their own, most of the time
	}
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	return answer
}

func TestHarms(t *testing.T) {
	for _, c := range []struct {
		harm     faultproxy.Harm
		answer   string
		received bool
	}{
		{faultproxy.Pass, "a word here\n", true},
		{faultproxy.DropRequest, "", false},
		{faultproxy.DropAnswer, "", true},
		{faultproxy.Delay, "a word here\n", true},
	} {
		t.Run(c.harm.String(), func(t *testing.T) {
			server := serve(t)
			p, err := faultproxy.Start(server.listener.Addr().String(), faultproxy.Options{Word: "word", Wait: time.Millisecond})
			require.NoError(t, err)
			defer p.Close()
			p.Harm(faultproxy.First(1, c.harm))
			require.Equal(t, "nothing\n", ask(t, p.Addr(), "nothing\n"))
			require.Equal(t, c.answer, ask(t, p.Addr(), "a wo", "rd here\n"))
			require.Equal(t, "a word again\n", ask(t, p.Addr(), "a word again\n"), "only the first is harmed")
			require.Equal(t, 2, p.Requests())
			require.Equal(t, c.received, len(server.received()) == 3, server.received())
		})
	}
}

func TestCutAndRetarget(t *testing.T) {
	first, second := serve(t), serve(t)
	p, err := faultproxy.Start(first.listener.Addr().String(), faultproxy.Options{Word: "word"})
	require.NoError(t, err)
	defer p.Close()
	p.Harm(faultproxy.Always(faultproxy.Cut))
	require.Empty(t, ask(t, p.Addr(), "word\n"))
	require.Eventually(t, func() bool { return len(first.received()) == 1 }, 10*time.Second, time.Millisecond, "the request arrives")

	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("x\n"))
	require.NoError(t, err)
	_, err = bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	p.Retarget(second.listener.Addr().String())
	p.CutAll()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.Equal(t, "there\n", ask(t, p.Addr(), "there\n"))
	require.Equal(t, []string{"there"}, second.received())
}

func TestHTTP2Answer(t *testing.T) {
	frame := func(kind, flags byte, payload int) []byte {
		return append([]byte{0, byte(payload >> 8), byte(payload), kind, flags, 0, 0, 0, 1}, bytes.Repeat([]byte{1}, payload)...)
	}
	settings, headers, data, end := frame(4, 1, 300), frame(1, 4, 10), frame(0, 1, 5), frame(1, 5, 7)
	stream := bytes.Join([][]byte{settings, headers, data, end, settings}, nil)
	for size := 1; size < len(stream); size += 3 {
		isAnswer := faultproxy.HTTP2Answer()
		at := -1
		for i := 0; i < len(stream); i += size {
			if isAnswer(stream[i:min(i+size, len(stream))]) {
				require.Negative(t, at, "one answer")
				at = i
			}
		}
		whole := len(stream) - len(settings) - len(end) + 8 // where the header of the last headers is whole
		require.Equal(t, whole/size*size, at, "pieces of %d", size)
	}
}
