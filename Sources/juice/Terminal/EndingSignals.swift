import Dispatch
import Foundation
import Kafka
import Synchronization

/// The signals that end a command: the only place that reacts to them.
///
/// A handler may do next to nothing, and the main thread is in a call to librdkafka most of the time. So the handler writes the
/// signal's number into a pipe, for a thread that waits there. By default that ends the process at once, between two writes. A
/// command that has something to finish, such as the service, is asked to stop; a second signal ends it at once.
enum EndingSignals {
    private static let stop = Mutex<StopSignal?>(nil)
    private static let pipe = Pipe()
    private static let (reader, writer) = (pipe.fileHandleForReading.fileDescriptor, pipe.fileHandleForWriting.fileDescriptor)

    /// Handles the signals from now on.
    static func handle() {
        // A closed output pipe is detected where it is written. A broker that closes its connection must not end the process.
        signal(SIGPIPE, SIG_IGN)
        // On a terminal, Swift's runtime would take this for a crash, and ask what to show of it.
        signal(SIGQUIT, SIG_DFL)
        // librdkafka's failed assertions name their place. Swift's runtime would look at all threads first, which takes long, and
        // its helper keeps the ports.
        signal(SIGABRT, SIG_DFL)
        Thread.detachNewThread { [reader] in
            var number: UInt8 = 0
            while read(reader, &number, 1) != 1 {}
            if let stop = stop.withLock(\.self) {
                stop.request()
                while read(reader, &number, 1) != 1 {}
            }
            end(by: Int32(number))
        }
        var numbers = sigset_t()
        sigemptyset(&numbers)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            sigaddset(&numbers, number)
            let former = signal(number) { number in
                let code = errno
                var byte = UInt8(number)
                _ = Foundation.write(EndingSignals.writer, &byte, 1)
                errno = code
            }
            // `nohup` ignores SIGHUP for its command, which then outlives the terminal.
            if number == SIGHUP, unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                signal(number, SIG_IGN)
            }
        }
        // The thread of another program that started this one may have blocked them.
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
    }

    /// The request to stop that the first signal makes, instead of ending the process.
    static func stopSignal() -> StopSignal {
        let request = StopSignal()
        stop.withLock { $0 = request }
        return request
    }

    private static func end(by number: Int32) -> Never {
        // Lets the last write of whole lines be done, unless nobody reads them.
        var attempts = 25
        while attempts > 0, StandardOutput.turn.wait(timeout: .now()) == .timedOut {
            Thread.sleep(forTimeInterval: 0.01)
            attempts -= 1
        }
        // The shell's prompt must not follow a line of progress.
        if isatty(STDERR_FILENO) == 1 { _ = writeAll([UInt8(ascii: "\n")], to: STDERR_FILENO) }
        // By the signal itself, and not just with its status: so a loop in a shell script ends, too.
        signal(number, SIG_DFL)
        raise(number)
        // The first process of a container ignores it.
        _exit(128 + number)
    }
}
