import Kafka
import Testing

@testable import JuiceService

/// Invalid settings are refused before anything is started.
@Suite struct ServiceConfigurationTests {
    private func configuration(_ change: (inout ServiceConfiguration) -> Void) -> ServiceConfiguration {
        var configuration = ServiceConfiguration(bootstrapServers: "broker:9092", instanceID: "one")
        change(&configuration)
        return configuration
    }

    @Test(arguments: ServiceConfiguration.reservedProperties.sorted())
    func refusesReservedProperties(name: String) {
        #expect(throws: ServiceError.self) {
            try configuration { $0.kafkaProperties[name] = "x" }.validate()
        }
    }

    @Test func otherPropertiesReachEveryClient() throws {
        let configuration = configuration { $0.kafkaProperties = ["security.protocol": "ssl"] }
        try configuration.validate()
        for client in [
            configuration.client, configuration.groupConsumer(worker: 0), configuration.changelogConsumer,
            configuration.logEndConsumer, configuration.producer,
        ] {
            #expect(client["security.protocol"] == "ssl")
            #expect(client["bootstrap.servers"] == "broker:9092")
        }
    }

    @Test func workersHaveNamesOfTheirOwn() {
        let configuration = configuration { _ in }
        #expect(configuration.groupConsumer(worker: 3)["group.instance.id"] == "one-3")
        let ids = [(0, 0), (0, 7), (1, 0)].flatMap { configuration.transactionalIDs(worker: $0, set: $1).prefix(2) }
        #expect(
            ids == [
                "juice-maker/one/0/0/0", "juice-maker/one/0/0/1", "juice-maker/one/0/7/0", "juice-maker/one/0/7/1",
                "juice-maker/one/1/0/0", "juice-maker/one/1/0/1",
            ])
    }

    @Test(arguments: [(1, 1, BrokerCapabilities.full, 114), (2, 3, .full, 320), (1, 1, .embedded, 148)])
    func tooFewOpenFilesAreRefused(workers: Int, brokers: Int, capabilities: BrokerCapabilities, needed: Int) throws {
        func validate(_ files: Int) throws {
            try configuration { ($0.workers, $0.capabilities, $0.openFiles) = (workers, capabilities, files) }
                .validate(brokers: brokers)
        }
        try validate(needed)
        let error = #expect(throws: ServiceError.self) { try validate(needed - 1) }
        #expect(error?.description.contains("may open \(needed - 1) files") ?? false)
        #expect(error?.description.contains("need \(needed)") ?? false)
    }

    @Test func noDescriptionShowsASecret() {
        let configuration = configuration { $0.kafkaProperties = ["sasl.password": "s3cret"] }
        var dumped = ""
        dump(configuration, to: &dumped)
        let service = OrderService(configuration: configuration, logger: quietLogger)
        for text in ["\(configuration)", "\(service)", String(reflecting: configuration), dumped] {
            #expect(!text.contains("s3cret"))
        }
    }

    @Test(arguments: [
        (["b:9092"], "a:9092,b:9092"), (["a:9092"], "a:9092"), (["c:9092", "a:9092", "b:9093"], "a:9092,c:9092,b:9093"),
        // librdkafka would read it as a host with a port.
        (["2001:db8::1:9092"], "a:9092"),
        ([], "a:9092"),
    ])
    func namedBrokersAreAddedOnce(brokers: [String], all: String) {
        let configuration = configuration { $0.bootstrapServers = "a:9092" }
        #expect(configuration.knowing(brokers: brokers).bootstrapServers == all)
    }
}
