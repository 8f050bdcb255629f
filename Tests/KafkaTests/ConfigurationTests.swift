import Testing

@testable import Kafka

/// Properties have librdkafka's names, and secrets stay secret.
@Suite struct ConfigurationTests {
    @Test(arguments: [
        ("sasl.password", true), ("ssl.key.password", true), ("ssl.keystore.password", true),
        ("ssl.key.pem", true), ("sasl.oauthbearer.client.secret", true), ("sasl.oauthbearer.config", true),
        ("sasl.oauthbearer.assertion.private.key.passphrase", true),
        ("sasl.oauthbearer.token.endpoint.url", false), ("ssl.key.location", false),
        ("sasl.username", false), ("bootstrap.servers", false), ("client.id", false),
    ])
    func secretsAreKnownByName(name: String, isSecret: Bool) {
        #expect(KafkaConfiguration.isSecret(name) == isSecret)
    }

    @Test func aDescriptionHidesSecrets() {
        let configuration = KafkaConfiguration(["sasl.username": "pos", "sasl.password": "s3cret"])
        #expect(configuration.description == "sasl.password=******** sasl.username=pos")
        #expect("\(configuration)".contains("s3cret") == false)
    }

    @Test func anUnknownPropertyIsNamed() {
        let error = #expect(throws: KafkaError.self) {
            try Producer(configuration: KafkaConfiguration(["no.such.property": "1"]), hooks: quietHooks)
        }
        #expect(error?.description.contains("\"no.such.property\"") == true)
        #expect(error?.code == .invalidArgument)
    }

    @Test func aRefusedSecretIsNotQuoted() {
        let error = #expect(throws: KafkaError.self) {
            try Producer(configuration: KafkaConfiguration(["no.such.password": "s3cret"]), hooks: quietHooks)
        }
        #expect(error?.description.contains("no.such.password") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func aRefusedValueIsExplained() {
        let error = #expect(throws: KafkaError.self) {
            try Producer(configuration: KafkaConfiguration(["linger.ms": "soon"]), hooks: quietHooks)
        }
        #expect(error?.description.contains("linger.ms") == true)
    }

    @Test func aConsumerNeedsAGroup() {
        #expect(throws: KafkaError.self) { try Consumer(configuration: KafkaConfiguration(), hooks: quietHooks) }
    }

    @Test func laterPropertiesWin() {
        let merged = KafkaConfiguration(["a": "1", "b": "1"]).merging(["b": "2"])
        #expect(merged.properties == ["a": "1", "b": "2"])
    }

    /// librdkafka refuses a property that its version does not know, and warns of a consumer's property on a producer.
    @Test func defaultsAreWhatTheVersionKnows() throws {
        let (consumer, producer) = (KafkaConfiguration.defaults(of: .consumer), KafkaConfiguration.defaults(of: .producer))
        #expect(consumer.properties.keys.allSatisfy(KafkaConfiguration.isKnown))
        #expect((consumer["fetch.queue.backoff.ms"] != nil) == KafkaConfiguration.isKnown("fetch.queue.backoff.ms"))
        #expect((producer["enable.metrics.push"] != nil) == KafkaConfiguration.isKnown("enable.metrics.push"))
        #expect(producer["fetch.queue.backoff.ms"] == nil)
    }
}

/// The two remedies of an error.
@Suite struct ErrorTests {
    @Test(arguments: [
        (KafkaError(code: .fenced, isFatal: true), KafkaError.Remedy.startOver),
        (KafkaError(code: .fenced, isFatal: true, isRetriable: true, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, isRetriable: true, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, isRetriable: true), .retry),
        (KafkaError(code: .state), .startOver),
    ])
    func aRemedyFollowsFromTheFlags(error: KafkaError, remedy: KafkaError.Remedy) {
        #expect(error.remedy == remedy)
    }

    @Test func anErrorNamesItsCode() {
        #expect(KafkaError(code: .timedOut).description == "Local: Timed out (_TIMED_OUT)")
    }
}
