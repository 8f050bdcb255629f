import Foundation
import JuiceClient
import Testing

@testable import juice

/// Tests the output of `juice config`, and the known names.
@Suite struct ConfigTests {
    private func entries(
        flags: [Setting: String] = [:],
        environment: [String: String] = [:]
    ) throws -> [String: EffectiveSettings.Entry] {
        let settings = try Settings(flags: flags, file: nil, environment: environment)
        return Dictionary(uniqueKeysWithValues: try EffectiveSettings(settings).entries.map { ($0.name, $0) })
    }

    @Test func valuesHaveTheirSources() throws {
        let entries = try entries(flags: [.workers: "3"], environment: ["JUICE_HTTP": "[::1]:80"])
        #expect(entries["workers"] == .init(name: "workers", value: "3", source: "option"))
        #expect(entries["http"] == .init(name: "http", value: "[::1]:80", source: "environment JUICE_HTTP"))
        #expect(entries["group"] == .init(name: "group", value: "juice-maker", source: "default"))
        #expect(entries["duplicate-window"]?.value == "3600")
        #expect(entries["menu"] == .init(name: "menu", value: nil, source: "default"))
    }

    /// Detects a new setting that is missing from the output.
    @Test func everySettingOfServeIsThere() throws {
        let help = JuiceCommand.helpMessage(for: Serve.self, includeHidden: true, columns: 200)
        let shown = try entries().keys
        for setting in Setting.allCases where help.contains("--\(setting.rawValue) <") {
            guard setting != .kafkaProperty else { continue }
            #expect(shown.contains(setting.rawValue), "\(setting.rawValue)")
        }
        #expect(help.contains("--group <"))
    }

    @Test func propertiesAreShownWithoutSecrets() throws {
        let entries = try entries(
            flags: [.kafkaProperty: "linger.ms=1", .kafkaDebug: "cgrp"],
            environment: ["JUICE_KAFKA_PROPERTY": "sasl.password=hunter2\nlinger.ms=2"])
        #expect(entries["kafka-property linger.ms"]?.value == "1")
        #expect(entries["kafka-property linger.ms"]?.source == "option")
        #expect(entries["kafka-property sasl.password"]?.value == "********")
        #expect(entries["kafka-property sasl.password"]?.source == "environment JUICE_KAFKA_PROPERTY")
        #expect(entries["kafka-property debug"]?.value == "cgrp")
        #expect(entries["kafka-property debug"]?.source == "option")
        #expect(entries["log-level"]?.value == "debug", "whoever asks wants to read the answer")
    }

    @Test func whatServeRefusesIsRefused() {
        #expect(throws: Failure.self) { try entries(flags: [.http: "8080"]) }
        #expect(throws: Failure.self) { try entries(flags: [.workers: "0"]) }
    }

    /// As in a container, where no client could reach an embedded broker.
    @Test func brokersCanBeRequired() throws {
        let required = ["JUICE_REQUIRE_BROKERS": "true"]
        let failure = #expect(throws: Failure.self) { try entries(environment: required) }
        #expect(failure?.status == .configuration)
        #expect(failure?.hint?.contains("JUICE_BOOTSTRAP_SERVERS") == true)
        let named = try entries(flags: [.bootstrapServers: "kafka:9092"], environment: required)
        #expect(named["bootstrap-servers"]?.value == "kafka:9092")
        #expect(named["require-brokers"]?.value == "true")
    }

    @Test(arguments: [
        (
            "JUICE_WORKER",
            "JUICE_WORKER is set in the environment, but there is no such setting; did you mean"
        ),
        (
            "JUICE_COLOUR_OF_THE_SKY",
            "JUICE_COLOUR_OF_THE_SKY is set in the environment, but there is no such setting"
        ),
    ])
    func unknownVariablesAreErrors(name: String, beginning: String) {
        let failure = #expect(throws: Failure.self) { try entries(environment: [name: "1"]) }
        #expect(failure?.message.hasPrefix(beginning) == true)
        #expect(failure?.status == .configuration)
    }

    /// Kubernetes sets these variables for the services of a namespace.
    @Test(arguments: [
        "JUICE_SERVICE_HOST", "JUICE_SERVICE_PORT", "JUICE_SERVICE_PORT_HTTP", "JUICE_PORT", "JUICE_PORT_8080_TCP",
        "JUICE_PORT_8080_TCP_ADDR", "JUICE_METRICS_SERVICE_HOST", "JUICE_METRICS_PORT_80_UDP_PROTO",
    ])
    func serviceLinksAreNot(name: String) throws {
        #expect(try entries(environment: [name: "1"])["workers"]?.value == "1")
        #expect(Setting.allCases.allSatisfy { $0.environmentName != name })
    }
}
