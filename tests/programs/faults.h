// Shared by faults.cpp and mpi_faults.cpp: checks, children, timers, and a
// count of objects on the stack. Each program defines what it does to fail.
#ifndef FAULTS_H
#define FAULTS_H

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// Says what is wrong, and ends all processes of the program.
[[noreturn]] void fail(const char *what);

void expect(bool good, const char *what) {
  if (!good) fail(what);
}

void expect_child(pid_t child, int code, const char *what) {
  int status = 0;
  expect(waitpid(child, &status, 0) == child, "waitpid");
  expect(WIFEXITED(status) && WEXITSTATUS(status) == code, what);
}

// Forks a child that makes no calls and calls _exit, and one that executes
// another program.
void fork_two_children() {
  pid_t child = fork();
  if (child == 0) _exit(11);
  expect_child(child, 11, "the child did not _exit with 11");
  child = fork();
  if (child == 0) {
    execl("/bin/true", "true", static_cast<char *>(nullptr));
    _exit(99);
  }
  expect_child(child, 0, "/bin/true failed");
}

void set_timers(int microseconds) {
  itimerval timer{};
  timer.it_interval.tv_usec = timer.it_value.tv_usec = microseconds;
  setitimer(ITIMER_REAL, &timer, nullptr);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// Calls the handler 1000 times a second, by SIGALRM and by SIGPROF each, until
// stop_signals is called.
void start_signals(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  sigaction(SIGPROF, &action, nullptr);
  set_timers(1000);
}

void stop_signals() { set_timers(0); }

// Counts its objects, which shows whether the stack was unwound.
struct Counted {
  static int alive;
  Counted() { alive++; }
  ~Counted() { alive--; }
};
int Counted::alive = 0;

}  // namespace

#endif
