import Foundation
import Logging
import Testing

@testable import JuiceWeb
@testable import juice

struct KioskPlanTests {
    private func plan(_ options: String...) throws -> KioskPlan {
        let command = try KioskCommand.parse(["--bootstrap-servers", "127.0.0.1:1"] + options)
        return try command.plan(KafkaClients(command.kafka, logger: .quiet))
    }

    @Test func defaultsToLocalhostWithoutStaff() throws {
        let plan = try plan()
        #expect(plan.address == HTTPAddress(host: "127.0.0.1", port: 8081))
        #expect(plan.configuration.staffSecrets.isEmpty)
        #expect(plan.configuration.language == nil)
        #expect(plan.adminAddress == nil)
        #expect(plan.configuration.stores == nil)
        #expect(!plan.configuration.takesAnyStore)
        #expect(plan.configuration.orderRate == 100)
    }

    @Test func readsItsSettings() throws {
        try withFile("\u{FEFF}0123456789abcdef\r\n") { path in
            let plan = try self.plan(
                "--http", "0.0.0.0:80", "--admin-http", "127.0.0.1:81", "--stores", "강남,hongdae", "--staff-token-file", path,
                "--language", "ko", "--topic-prefix", "t.", "--host-names", "a.example,b.example", "--any-store", "--order-rate",
                "7")
            #expect(plan.address == HTTPAddress(host: "0.0.0.0", port: 80))
            #expect(plan.adminAddress == HTTPAddress(host: "127.0.0.1", port: 81))
            #expect(plan.configuration.mostPages <= 2000)
            #expect(plan.configuration.mostPages < plan.limits.connections)
            #expect(plan.configuration.stores == ["강남", "hongdae"])
            #expect(plan.configuration.staffSecrets.map { $0.matches("0123456789abcdef") } == [true])
            #expect(plan.configuration.language == .korean)
            #expect(plan.configuration.topics.orders == "t.orders")
            #expect(plan.configuration.takesAnyStore)
            #expect(plan.configuration.orderRate == 7)
            #expect(plan.configuration.hostNames == ["a.example", "b.example"])
            #expect(plan.configuration.feed["isolation.level"] == "read_committed")
            #expect(plan.configuration.orders["enable.idempotence"] == "true")
        }
    }

    @Test(arguments: ["", "too-short", "0123456789 abcdef0", "0123456789abcdef\n0123456789abcdef"])
    func refusesTokens(text: String) throws {
        try withFile(text) { path in
            let failure = #expect(throws: Failure.self) { try plan("--staff-token-file", path) }
            #expect(failure?.status == .configuration)
            #expect(text.isEmpty || failure?.report.contains(text) == false)
        }
    }
}
