// What libthrow.cpp offers besides the OpenSHMEM functions it defines.
#ifndef LIBTHROW_H
#define LIBTHROW_H

#include <csetjmp>

enum throw_kind {
  THROW_NOTHING,
  THROW_EXCEPTION,
  THROW_EXIT,
  THROW_JUMP,
  THROW_CANCEL,
  THROW_ASYNC
};

extern "C" {
void libthrow_arm(throw_kind kind);  // the next such call of this thread
extern jmp_buf libthrow_jump;        // where THROW_JUMP goes
extern volatile int libthrow_waiting;  // set when the cancellable wait begins
}

#endif
