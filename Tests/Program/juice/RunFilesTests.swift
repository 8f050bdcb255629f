import Foundation
import Testing

@testable import juice

struct RunFilesTests {
    private func withRunFiles(_ body: (RunFiles) throws -> Void) throws {
        let directory = NSTemporaryDirectory() + "juice-run-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(RunFiles(directory: directory))
    }

    @Test func anAnnouncementIsFoundUntilItEnds() throws {
        try withRunFiles { files in
            #expect(files.live() == [])
            try announced(files) { #expect(files.live() == ["127.0.0.1:1234"]) }
            #expect(files.live() == [])
            #expect(try FileManager.default.contentsOfDirectory(atPath: files.directory) == [])
        }
    }

    @Test(arguments: [
        ("127.0.0.1:1234", true), ("localhost:1234", true), ("127.0.0.1:1235", false), ("192.0.2.1:1234", false),
        ("127.0.0.1:1234,127.0.0.1:1235", false), ("localhost", false),
    ])
    func aBrokerIsKnownByAnyNameOfThisMachine(address: String, isKnown: Bool) throws {
        try withRunFiles { files in
            #expect(!files.hasBroker(at: address))
            try announced(files) { #expect(files.hasBroker(at: address) == isKnown) }
        }
    }

    @Test func theFileOfADeadProcessIsRemoved() throws {
        try withRunFiles { files in
            try announced(files) {
                // No process holds a lock on it, as after a kill.
                let dead = files.directory + "/2.kafka"
                try Data("127.0.0.1:2".utf8).write(to: URL(fileURLWithPath: dead))
                #expect(files.live() == ["127.0.0.1:1234"])
                #expect(!FileManager.default.fileExists(atPath: dead))
            }
        }
    }

    @Test func aDirectoryThatOthersMayWriteToIsNotTrusted() throws {
        try withRunFiles { files in
            let manager = FileManager.default
            try manager.createDirectory(atPath: files.directory, withIntermediateDirectories: true)
            try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: files.directory)
            #expect(throws: (any Error).self) { try announced(files) {} }
            #expect(files.live() == [])
        }
    }

    @Test func itLiesInTheRuntimeDirectoryWhereThereIsOne() {
        let user = getuid()
        #expect(RunFiles.ofThisUser(environment: ["XDG_RUNTIME_DIR": "/run/me"]).directory == "/run/me/juice-maker-\(user)")
        #expect(RunFiles.ofThisUser(environment: [:]).directory == "/tmp/juice-maker-\(user)")
    }

    private func announced(_ files: RunFiles, _ body: () throws -> Void) throws {
        let announcement = try files.announce("127.0.0.1:1234")
        try body()
        // The announcement ends with its last use.
        withExtendedLifetime(announcement) {}
    }
}
